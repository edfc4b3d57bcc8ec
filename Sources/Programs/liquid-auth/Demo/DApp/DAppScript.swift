extension DAppPage {
  /// The page's script, in the order of a dApp: subscribe to the request, answer the wallet's offer, ask over the channel.
  ///
  /// With `post` it asks what a dApp's server would know; here the server also writes and reads the messages (CBOR,
  /// base64url).
  static let script =
    DemoPage.beginning("--dapp") + #"""
      // Socket.IO 4 over one web socket: Engine.IO packets 0 open, 2 ping, 3 pong, 4 message; in a message 0 connect,
      // 2 event, 3 acknowledgement.
      class Socket {
        constructor() {
          this.handlers = {};
          this.acknowledgements = {};
          this.next = 0;
          this.ready = new Promise((resolve, reject) => {
            this.resolve = resolve;
            this.wire = new WebSocket(`ws://${location.host}/socket.io/?EIO=4&transport=websocket`);
            this.wire.onerror = () => reject(new Error("no connection to the service; start the demo again"));
            this.wire.onmessage = (event) => this.read(event.data);
          });
        }

        read(packet) {
          if (packet[0] === "0") this.wire.send("40");
          if (packet[0] === "2") this.wire.send("3");
          if (packet.startsWith("40")) this.resolve();
          const [, kind, number, json] = packet.match(/^4([23])(\d*)(.*)$/s) ?? [];
          if (kind === "3") this.acknowledgements[number]?.(...JSON.parse(json));
          if (kind === "2") {
            const [name, ...payload] = JSON.parse(json);
            this.handlers[name]?.(...payload);
          }
        }

        emit(name, payload) {
          this.wire.send("42" + JSON.stringify([name, payload]));
        }

        call(name, payload) {
          return new Promise((resolve) => {
            const number = this.next++;
            this.acknowledgements[number] = resolve;
            this.wire.send(`42${number}` + JSON.stringify([name, payload]));
          });
        }
      }

      const requestId = crypto.randomUUID();
      const link = `liquid://${location.origin}/?requestId=${requestId}`;
      const at = (id) => document.getElementById(id);
      at("link").href = link;
      at("command").textContent = `liquid-auth connect --no-ice-servers '${link}'`;

      function say(step, text, isError = false) {
        at(`state-${step}`).textContent = text;
        at(`state-${step}`).classList.toggle("error", isError);
      }

      // The wallet offers the channel; each side sends its candidates as it finds them.
      let peer;
      let channel;
      const candidates = [];

      async function offered(socket, sdp) {
        if (peer) return;
        peer = new RTCPeerConnection({ iceServers: [] });
        peer.onicecandidate = ({ candidate }) => {
          if (candidate) socket.emit("answer-candidate", candidate.toJSON());
        };
        peer.ondatachannel = (event) => {
          channel = event.channel;
          channel.onclose = () => {
            at("sign").disabled = true;
            say(1, "The wallet has left. Load the page again for another link.");
          };
          at("sign").disabled = false;
          say(1, `✓ ${wallet} has signed in, and the channel is open.`);
        };
        await peer.setRemoteDescription({ type: "offer", sdp });
        for (const candidate of candidates) await peer.addIceCandidate(candidate);
        await peer.setLocalDescription(await peer.createAnswer());
        socket.emit("answer-description", peer.localDescription.sdp);
      }

      let wallet;

      async function connect() {
        const socket = new Socket();
        await socket.ready;
        const failed = (error) => say(1, `✗ ${error.message}`, true);
        socket.handlers["offer-description"] = (sdp) => offered(socket, sdp).catch(failed);
        socket.handlers["offer-candidate"] = (candidate) => {
          candidates.push(candidate);
          if (peer?.remoteDescription) peer.addIceCandidate(candidate).catch(failed);
        };
        say(1, "Waiting for the wallet…");
        const { data } = await socket.call("link", { requestId });
        wallet = data.wallet;
        say(1, `✓ ${wallet} has signed in. Waiting for the channel…`);
      }

      connect().catch((error) => say(1, `✗ ${error.message}`, true));

      at("sign").addEventListener("click", async () => {
        at("sign").disabled = true;
        at("results-2").replaceChildren();
        say(2, "Waiting for the wallet…");
        try {
          const { frame } = await post("/ask", { requestId });
          const answer = new Promise((resolve, reject) => {
            channel.onmessage = (event) => resolve(event.data);
            channel.addEventListener("close", () => reject(new Error("the wallet has left")));
          });
          channel.send(frame);
          const verdict = await post("/answer", { requestId, frame: await answer });
          at("results-2").append(listOfChecks(verdict), listOfFacts(verdict));
          say(2, verdict.holds ? "✓ The signature is valid." : "✗ The signature was not accepted.", !verdict.holds);
        } catch (error) {
          say(2, `✗ ${error.message}`, true);
        }
        at("sign").disabled = channel.readyState !== "open";
      });

      endAtDone({ requestId }, () => peer?.close());

      """#
}
