/** Tells a peel about its watchdog, and marks the process as started by that watchdog. */
const variable = "SVC_WATCHDOG";

/** What a peel knows about its watchdog. */
export interface WatchdogAbove {
  /** Number of restarts of the peel. */
  restarts: number;
}

/** The variable that a watchdog adds to the environment of its peel. */
export function watchdogVariable(pid: number, restarts: number, dataDir: string): Record<string, string> {
  return { [variable]: `${pid}:${restarts}:${dataDir}` };
}

/**
 * The watchdog of this process. The variable alone is not enough, because it may be inherited: the parent
 * process must match.
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
 * The watchdog that started a process, from the text of /proc/<pid>/environ.
 *
 * @returns its process id and the data directory; `undefined` when no watchdog started it
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
