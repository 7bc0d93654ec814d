import { cleanEnvironment } from "../../../base/process/environment.ts";
import { runProcess } from "../../../base/process/process.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";

export const checkArg = arg.string(
  "A command that must succeed before the new file replaces the old one, such as visudo -c -f. The path of the new file is appended to it.",
);

const timeoutMs = 60_000;
const outputBytes = 4 * 1024;

/** Checks a new file with the command of `check_cmd`. The function throws a StateFailure to reject the file. */
export function checkWith(command: string, { clock, signal }: StateContext): (file: string) => Promise<void> {
  return async (file) => {
    const { code, stdout, stderr } = await runProcess({
      argv: ["/bin/sh", "-c", `${command} "$0"`, file],
      env: cleanEnvironment(undefined),
      cwd: "/",
      timeoutMs,
      outputLimit: outputBytes,
      clock,
      signal,
    });
    if (code === 0) return;
    const said = stderr.text.trim() || stdout.text.trim();
    throw new StateFailure(
      `check_cmd rejected the new file: ${command} exited with ${code}${said === "" ? "" : `: ${said}`}`,
    );
  };
}
