// A dApp in a browser: links, waits for the wallet's offer, answers with the browser's own RTCPeerConnection. The test
// reads and writes the frames of the data channel through `dapp`; no library is loaded.
"use strict";

// Socket.IO 4 over one WebSocket: Engine.IO packets 0 open, 2 ping, 3 pong, 4 message; in a message 0 connect, 2 event,
// 3 acknowledgement.
class Socket {
  constructor() {
    this.handlers = {};
    this.acknowledgements = {};
    this.next = 0;
    this.ready = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.wire = new WebSocket(`wss://${location.host}/socket.io/?EIO=4&transport=websocket`);
      this.wire.onerror = reject;
      this.wire.onmessage = (event) => this.read(event.data);
    });
  }

  read(packet) {
    if (packet[0] === "0") this.wire.send("40");
    if (packet[0] === "2") this.wire.send("3");
    if (packet.startsWith("40")) this.resolve();
    const [, kind, number, json] = packet.match(/^4([23])(\d*)(.*)$/s) ?? [];
    if (kind === "3") this.acknowledgements[number](...JSON.parse(json));
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

window.dapp = {
  acknowledged: null,
  opened: null,
  closed: false,
  fault: null,
  offers: [],
  candidates: [],
  frames: [],
  times: {},

  async link(requestId, configuration) {
    this.socket = new Socket();
    await this.socket.ready;
    this.socket.handlers["offer-description"] = (sdp) => this.offered(sdp).catch((error) => (this.fault = String(error)));
    const answer = await this.socket.call("link", { requestId });
    this.configuration = configuration;
    this.socket.handlers["offer-candidate"] = (candidate) => this.candidate(candidate);
    this.times.linked = Date.now();
    this.acknowledged = answer.data;
  },

  async offered(sdp) {
    this.offers.push(sdp);
    if (this.peer) return;
    this.times.offer = Date.now();
    this.peer = new RTCPeerConnection(this.configuration);
    this.peer.onicecandidate = ({ candidate }) => {
      if (candidate) this.socket.emit("answer-candidate", candidate.toJSON());
    };
    this.peer.ondatachannel = ({ channel }) => {
      this.channel = channel;
      channel.onmessage = (event) => this.frames.push(event.data);
      channel.onclose = () => (this.closed = true);
      this.times.open = Date.now();
      this.opened = channel.label;
    };
    await this.peer.setRemoteDescription({ type: "offer", sdp });
    for (const candidate of this.candidates) await this.peer.addIceCandidate(candidate);
    await this.peer.setLocalDescription(await this.peer.createAnswer());
    this.socket.emit("answer-description", this.peer.localDescription.sdp);
  },

  async candidate(candidate) {
    this.candidates.push(candidate);
    if (this.peer?.remoteDescription) await this.peer.addIceCandidate(candidate);
  },

  // Types of the local and the remote candidate that carry the channel.
  async selectedPair() {
    const stats = await this.peer.getStats();
    const all = [...stats.values()];
    const transport = all.find((one) => one.type === "transport");
    // Firefox reports no transports, but marks the pair.
    const pair = transport ? stats.get(transport.selectedCandidatePairId) : all.find((one) => one.selected);
    return [stats.get(pair.localCandidateId).candidateType, stats.get(pair.remoteCandidateId).candidateType];
  },
};
