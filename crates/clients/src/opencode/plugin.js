// Tells Substrate what happens in a session, and the session what Substrate answers. No call waits longer than LIMIT_MS,
// and where Substrate is gone, nothing is held up.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";

const VERSION = 3;
const KIND = { hook: 1, printed: 4, leaving: 5, reply: 16, wait: 17, confirm: 19 };
const HEADER = 8;
const LIMIT_MS = 10_000;
const END_MS = 1_000;
const MAX_RESULT = 16_384;
const SECRET = /(^|_)(TOKENS?|KEY|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS|AUTH|HEADERS)(_|$)/;

const frame = (kind, body) => {
  const header = Buffer.from([0x53, 0x62, VERSION, kind, 0, 0, 0, 0]);
  header.writeUInt32LE(body.length, 4);
  return Buffer.concat([header, body]);
};

const variables = () => {
  const passes = (name) =>
    ["AGENT_ID", "TMUX", "TMUX_PANE"].includes(name) ||
    (name.startsWith("SUBSTRATE_") && !SECRET.test(name.slice(10)));
  const given = Object.entries(process.env).filter(([name]) => passes(name));
  return [...given, ["SUBSTRATE_CLIENT_PID", String(process.pid)]];
};

const request = (id, args, cwd, stdin) => {
  const zeroed = (lines) => Buffer.from(lines.map((line) => `${line}\0`).join(""));
  const parts = [
    zeroed(args),
    Buffer.from(cwd),
    zeroed(variables().map(([name, value]) => `${name}=${value}`)),
  ];
  const fixed = Buffer.alloc(37);
  id.copy(fixed, 0);
  fixed.writeUInt32LE(LIMIT_MS, 16);
  parts.forEach((part, n) => fixed.writeUInt32LE(part.length, 21 + 4 * n));
  return frame(KIND.hook, Buffer.concat([fixed, ...parts, stdin]));
};

// What the daemon says. It is asked once: only if it could not be reached does it throw.
const overSocket = (args, cwd, stdin, limit) =>
  new Promise((resolve, reject) => {
    const home = process.env.SUBSTRATE_HOME || `${process.env.HOME}/.subtrate`;
    const id = randomBytes(16);
    const socket = connect(`${home}/daemon.sock`);
    let [heard, said, reached] = [Buffer.alloc(0), "", false];
    const end = (settle, value) => {
      clearTimeout(timer);
      socket.destroy();
      settle(value);
    };
    const timer = setTimeout(() => end(resolve, ""), limit);
    const lost = () => (reached ? end(resolve, said) : end(reject, new Error("no daemon")));
    socket.on("error", lost);
    socket.on("close", lost);
    socket.on("connect", () => socket.write(request(id, args, cwd, stdin)));
    socket.on("data", (data) => {
      heard = Buffer.concat([heard, data]);
      while (heard.length >= HEADER && heard.length >= HEADER + heard.readUInt32LE(4)) {
        const [version, kind, length] = [heard[2], heard[3], heard.readUInt32LE(4)];
        const body = heard.subarray(HEADER, HEADER + length);
        heard = heard.subarray(HEADER + length);
        if (version !== VERSION || ![KIND.reply, KIND.wait, KIND.confirm].includes(kind)) {
          return end(reject, new Error("another version"));
        }
        reached = true;
        if (kind === KIND.wait) continue;
        const answer = length >= 5 ? body.toString("utf8", 5, 5 + body.readUInt32LE(1)) : "";
        if (kind === KIND.confirm) {
          said = answer;
          socket.write(frame(KIND.printed, id));
          continue;
        }
        if (said) socket.write(frame(KIND.leaving, Buffer.alloc(0)));
        return end(resolve, said || answer);
      }
    });
  });

// The same through our program, which starts a daemon.
const overProgram = (command, cwd, stdin, limit) =>
  new Promise((resolve) => {
    const env = { ...process.env, ...Object.fromEntries(variables()) };
    const child = spawn("/bin/sh", ["-c", command], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), limit + 2_000);
    let out = "";
    const end = () => {
      clearTimeout(timer);
      resolve(out);
    };
    child.stdout.on("data", (data) => (out += data));
    child.stdin.on("error", () => {});
    child.on("error", end);
    child.on("close", end);
    child.stdin.end(stdin);
  });

// Our answer to one event: an object, and an empty one whatever goes wrong.
const ask = async (event, cwd, payload) => {
  const command = COMMANDS[event];
  if (!command) return {};
  try {
    const stdin = Buffer.from(JSON.stringify({ hook_event_name: event, cwd, ...payload }));
    const limit = event === "SessionEnd" ? END_MS : LIMIT_MS;
    const args = ["opencode", event, ...(command.endsWith(" --shared") ? ["--shared"] : [])];
    const said = await overSocket(args, cwd, stdin, limit).catch(() =>
      overProgram(command, cwd, stdin, limit),
    );
    return said ? JSON.parse(said) : {};
  } catch {
    return {};
  }
};

const contextOf = (said) => said.hookSpecificOutput?.additionalContext;

export const Substrate = async ({ client, directory }) => {
  const [parents, agents, begun, refused] = [new Map(), new Map(), new Set(), new Set()];
  const tell = (event, payload) => ask(event, directory, payload);

  const parentOf = async (id) => {
    if (!parents.has(id)) {
      parents.set(id, undefined);
      try {
        const found = await client.session.get({ path: { id } });
        parents.set(id, found.data?.parentID);
      } catch {}
    }
    return parents.get(id);
  };

  // A subagent has a session of its own. Its root is the one that lasts.
  const whose = async (id) => {
    let root = id;
    for (let up = await parentOf(root); up; up = await parentOf(root)) root = up;
    if (root === id) return { session_id: id };
    return { session_id: root, agent_id: id, agent_type: agents.get(id) || "general" };
  };

  const put = (output, texts) => {
    const last = output.parts.at(-1);
    const stem = (last?.id ?? `prt_${Date.now().toString(16).padStart(12, "0")}`).slice(0, 16);
    texts.filter(Boolean).forEach((text, n) => {
      const id = `${stem}zz${n}${randomBytes(6).toString("hex").slice(0, 11)}`;
      const { id: messageID, sessionID } = output.message;
      output.parts.push({ id, sessionID, messageID, type: "text", text, synthetic: true });
    });
  };

  return {
    event: async ({ event: { type, properties } }) => {
      if (type === "session.created") {
        parents.set(properties.info.id, properties.info.parentID);
        agents.set(properties.info.id, properties.info.agent);
      } else if (type === "session.idle" && begun.has(properties.sessionID)) {
        const who = await whose(properties.sessionID);
        const said = await tell(who.agent_id ? "SubagentStop" : "Stop", who);
        if (said.decision === "block" && !who.agent_id) {
          const parts = [{ type: "text", text: said.reason }];
          await client.session.promptAsync({ path: { id: who.session_id }, body: { parts } });
        }
      } else if (type === "message.part.updated" && properties.part?.type === "tool") {
        const { callID, tool, sessionID, state } = properties.part;
        if (state.status !== "error" || refused.has(callID)) return;
        refused.add(callID);
        await tell("PostToolUseFailure", {
          ...(await whose(sessionID)),
          tool_name: tool,
          tool_input: state.input,
          tool_use_id: callID,
          error: String(state.error ?? ""),
        });
      }
    },
    "chat.message": async (input, output) => {
      const who = await whose(input.sessionID);
      const texts = [];
      if (!begun.has(input.sessionID)) {
        begun.add(input.sessionID);
        const said = await tell(who.agent_id ? "SubagentStart" : "SessionStart", {
          ...who,
          source: "startup",
        });
        texts.push(contextOf(said));
      }
      const words = output.parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = words.map((part) => part.text).join("\n");
      const said = await tell("UserPromptSubmit", { ...who, prompt });
      if (said.decision === "block") throw new Error(said.reason);
      put(output, [...texts, contextOf(said)]);
    },
    "tool.execute.before": async (input, output) => {
      const { hookSpecificOutput: said } = await tell("PreToolUse", {
        ...(await whose(input.sessionID)),
        tool_name: input.tool,
        tool_input: output.args,
        tool_use_id: input.callID,
      });
      if (said?.permissionDecision !== "deny") return;
      refused.add(input.callID);
      throw new Error(said.permissionDecisionReason);
    },
    "tool.execute.after": async (input, output) => {
      const result = String(output.output ?? "").slice(0, MAX_RESULT);
      const said = await tell("PostToolUse", {
        ...(await whose(input.sessionID)),
        tool_name: input.tool,
        tool_input: input.args,
        tool_use_id: input.callID,
        tool_response: { output: result },
      });
      const text = contextOf(said);
      if (text) output.output += `\n\n${text}`;
    },
    "shell.env": async (input, output) => {
      if (input.sessionID) {
        output.env.OPENCODE_SESSION_ID = (await whose(input.sessionID)).session_id;
      }
    },
    dispose: async () => {
      const mains = [...begun].filter((id) => !parents.get(id));
      const end = (session_id) => tell("SessionEnd", { session_id, reason: "other" });
      await Promise.all(mains.map(end));
    },
  };
};
