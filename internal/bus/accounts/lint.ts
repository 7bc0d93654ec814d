import { parseCredentials } from "../../identity/mod.ts";
import { maxControlLine } from "./server-config.ts";

/** The default maximum control line of a bus server. */
const defaultControlLine = 4096;

export interface LintResult {
  /** Size of the JWT in bytes. */
  jwtBytes: number;
  /** Sentences for the operator; empty when there are no problems. */
  warnings: string[];
}

/**
 * Checks credentials before a bus server rejects them: the JWT is sent in one control line.
 *
 * @throws SvcError `bad_request` when the text is not a credentials file; the text is never repeated
 */
export function lintCredentials(text: string): LintResult {
  const jwtBytes = Buffer.byteLength(parseCredentials(text).jwt);
  const warnings: string[] = [];
  if (jwtBytes > maxControlLine) {
    warnings.push(
      `the JWT has ${jwtBytes} bytes, more than max_control_line: ${maxControlLine} allows: give the user fewer permissions`,
    );
  } else if (jwtBytes > defaultControlLine) {
    warnings.push(
      `the JWT has ${jwtBytes} bytes, more than ${defaultControlLine}: a bus server needs max_control_line: ${maxControlLine}`,
    );
  }
  return { jwtBytes, warnings };
}
