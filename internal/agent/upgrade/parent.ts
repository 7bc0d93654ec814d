/** Tells a peel of the watchdog above it, and marks the process as that watchdog's. */
const variable = "SVC_WATCHDOG";

/** What a peel knows of the watchdog above it. */
export interface WatchdogAbove {
  /** How often it had to start the peel again. */
  restarts: number;
}

/** What a watchdog adds to the environment of the peel it starts. */
export function watchdogVariable(pid: number, restarts: number, dataDir: string): Record<string, string> {
  return { [variable]: `${pid}:${restarts}:${dataDir}` };
}

/**
 * The watchdog above this process. A variable that somebody handed on is not enough: the parent is the proof.
 *
 * @param parent process id of the parent
 */
export function watchdogAbove(
  env: Readonly<Record<string, string | undefined>>,
  parent: number,
): WatchdogAbove | undefined {
  const marked = parseMark(env[variable] ?? "");
  return marked !== undefined && marked.pid === parent ? { restarts: marked.restarts } : undefined;
}

/**
 * The watchdog that a process was started by, from the text of /proc/<pid>/environ.
 *
 * @returns its process id and the data directory; `undefined` when it was not started by one
 */
export function markIn(environ: string): { pid: number; dataDir: string } | undefined {
  const entry = environ.split("\0").find((item) => item.startsWith(`${variable}=`));
  return entry === undefined ? undefined : parseMark(entry.slice(variable.length + 1));
}

function parseMark(text: string): { pid: number; restarts: number; dataDir: string } | undefined {
  const found = /^(\d{1,10}):(\d{1,10}):(\/.*)$/s.exec(text);
  if (found === null) return undefined;
  return { pid: Number(found[1]), restarts: Number(found[2]), dataDir: found[3] ?? "" };
}
