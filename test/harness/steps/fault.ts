/** One change of the file system. */
export interface Step {
  act:
    | "open"
    | "write"
    | "sync"
    | "truncate"
    | "chmod"
    | "chown"
    | "rename"
    | "link"
    | "unlink"
    | "mkdir"
    | "copy";
}

/** What happens at a step. */
export interface Fault {
  /** As in the list of steps: `rename auth/web-1.creds#1`. */
  step: string;
  /** `kill` ends the program, in the middle of a write; with `full` the disk is full from here on. */
  how: "kill" | "full";
}

export interface Stepping {
  /** Only steps below this directory count. */
  below: string;
  /** Each step is added to this file. */
  list: string;
  fault?: Fault;
}

const variable = "STEPS_OF_THE_TEST";

export const faultEnvironment = (stepping: Stepping): Record<string, string> => ({
  [variable]: JSON.stringify(stepping),
});

export function readFault(env: Readonly<Record<string, string | undefined>>): Stepping {
  return JSON.parse(env[variable] ?? "") as Stepping;
}
