#!/usr/bin/env node
// Runs the program of this platform's package. Hooks name that program itself, so no tool call goes through here.
"use strict";
const { spawn } = require("node:child_process");
const { basename } = require("node:path");
const { constants } = require("node:os");

const name = basename(__filename, ".js");
const platform = `PACKAGE-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/${name}`);
} catch {
  console.error(`error: ${platform} is not installed\nhint: install without --omit=optional; if there is no such package, build Substrate from its source`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
