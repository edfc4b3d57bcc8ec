extension DemoPage {
  /// The beginning of the script of each demo's page: requests to this server, and what a verdict shows.
  ///
  /// - Parameter option: the demo's, for its command.
  static func beginning(_ option: String) -> String {
    #"""
    "use strict";

    async function post(path, content) {
      let answer;
      try {
        answer = await fetch(path, {
          method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content),
        });
      } catch {
        throw new Error("The demo has ended. Start it again in the terminal: liquid-auth demo \#(option)");
      }
      const result = await answer.json();
      if (!answer.ok) throw new Error(result.error);
      return result;
    }

    function element(name, text, ...classes) {
      const made = document.createElement(name);
      made.textContent = text;
      made.classList.add(...classes);
      return made;
    }

    function listOfChecks(verdict) {
      const checks = element("ul", "", "checks");
      for (const { check, holds } of verdict.checks) {
        const line = element("li", "", holds ? "ok" : "failed");
        const mark = element("span", holds ? "✓" : "✗", "mark");
        mark.setAttribute("role", "img");
        mark.setAttribute("aria-label", holds ? "succeeded:" : "failed:");
        line.append(mark, check);
        checks.append(line);
      }
      return checks;
    }

    function listOfFacts(verdict) {
      const facts = element("dl", "");
      for (const { name, value } of verdict.facts) facts.append(element("dt", name), element("dd", value));
      return facts;
    }

    // At the button "Done", ends the demo with the content of a request, and shows the totals; then calls `close`.
    function endAtDone(content, close) {
      document.getElementById("done").addEventListener("click", async () => {
        const result = document.getElementById("result");
        try {
          const { holds, checks, failures } = await post("/done", content);
          result.textContent = failures
            ? `✗ ${failures} of ${checks} checks failed. You can close this page.`
            : `${holds ? "✓ " : ""}Checks succeeded: ${checks}. You can close this page.`;
          for (const button of document.querySelectorAll("button")) button.disabled = true;
          close();
        } catch (error) {
          result.textContent = `✗ ${error.message}`;
        }
      });
    }


    """#
  }

  /// The page's script: it passes options and answers between this server and the browser, and verifies nothing.
  static let script =
    beginning("--browser") + #"""
      // base64url without padding, for all bytes in messages.
      const encode = (buffer) =>
        btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
      const decode = (text) =>
        Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (character) => character.charCodeAt(0));
      const hash = async (secret) => encode(await crypto.subtle.digest("SHA-256", secret));

      // The options with bytes in place of base64url.
      function withBytes(options) {
        options.challenge = decode(options.challenge);
        if (options.user) options.user.id = decode(options.user.id);
        for (const known of [...(options.excludeCredentials ?? []), ...(options.allowCredentials ?? [])]) {
          known.id = decode(known.id);
        }
        const salts = options.extensions.prf?.eval;
        for (const name in salts) salts[name] = decode(salts[name]);
        return options;
      }

      // The members of a credential that this server verifies; of the PRF secrets, only the hashes.
      async function verifiable(credential) {
        const { response } = credential;
        const members = { id: encode(credential.rawId), clientDataJSON: encode(response.clientDataJSON) };
        if (response.attestationObject) {
          members.attestationObject = encode(response.attestationObject);
          members.transports = response.getTransports?.() ?? [];
          return members;
        }
        members.authenticatorData = encode(response.authenticatorData);
        members.signature = encode(response.signature);
        if (response.userHandle?.byteLength) members.userHandle = encode(response.userHandle);
        const { prf } = credential.getClientExtensionResults();
        const secrets = prf?.results;
        members.prf = prf !== undefined;
        if (secrets?.first) {
          members.prfHashes = { first: await hash(secrets.first) };
          if (secrets.second) members.prfHashes.second = await hash(secrets.second);
        }
        return members;
      }

      // Runs one ceremony; returns the server's verdict. An error of the browser can be the right answer.
      async function run(ceremony) {
        const options = { publicKey: withBytes(await post("/begin", { ceremony })) };
        let credential;
        try {
          credential = await (options.publicKey.rp
            ? navigator.credentials.create(options) : navigator.credentials.get(options));
        } catch (error) {
          const verdict = await post("/failed", { ceremony, error: error.name });
          if (verdict.checks) return verdict;
          throw new Error(`${error.name}: ${error.message}`);
        }
        return post("/finish", { ceremony, credential: await verifiable(credential) });
      }

      const titles = {
        "second-factor": "Registration", "second-factor-sign-in": "Sign-in", prf: "First sign-in",
        "prf-again": "Second sign-in",
      };

      function show(results, ceremony, verdict) {
        if (titles[ceremony]) results.append(element("h3", titles[ceremony]));
        const details = element("details", "");
        details.append(element("summary", "Details"), listOfFacts(verdict));
        results.append(listOfChecks(verdict));
        if (verdict.facts.length) results.append(details);
      }

      const steps = [...document.querySelectorAll("button[data-ceremonies]")];
      const finished = new Set();
      // A step that needs another one comes after it.
      const needs = { "step-2": "step-1", "step-4": "step-1", "step-5": "step-1" };
      const enable = () => {
        for (const step of steps) step.disabled = needs[step.id] !== undefined && !finished.has(needs[step.id]);
      };

      async function press(step) {
        const number = step.id.slice("step-".length);
        const state = document.getElementById(`state-${number}`);
        const results = document.getElementById(`results-${number}`);
        results.replaceChildren();
        state.classList.remove("error");
        state.textContent = "Waiting for the browser and the key…";
        for (const other of steps) other.disabled = true;
        let count = 0;
        let failures = 0;
        try {
          for (const ceremony of step.dataset.ceremonies.split(" ")) {
            const verdict = await run(ceremony);
            show(results, ceremony, verdict);
            count += verdict.checks.length;
            failures += verdict.checks.filter(({ holds }) => !holds).length;
            if (failures) break;
          }
          if (!failures) finished.add(step.id);
          state.textContent = failures ? `✗ ${failures} of ${count} checks failed` : `✓ Checks succeeded: ${count}`;
          state.classList.toggle("error", failures > 0);
        } catch (error) {
          state.textContent = `✗ ${error.message}`;
          state.classList.add("error");
        }
        enable();
        step.focus();
      }

      for (const step of steps) step.addEventListener("click", () => press(step));

      endAtDone({}, () => {});

      if (!window.PublicKeyCredential) {
        const result = document.getElementById("result");
        result.textContent = "✗ This browser does not support passkeys.";
        for (const step of steps) step.disabled = true;
      } else {
        enable();
      }

      """#
}
