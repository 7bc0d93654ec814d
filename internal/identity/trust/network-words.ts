/**
 * What went wrong on the way to a server, below TLS. The words of the runtime are questions to the author of a program.
 *
 * @param code of the error
 * @returns `undefined` for everything else, such as certificates
 */
export function networkWords(code: string, host: string): string | undefined {
  switch (code) {
    case "ECONNREFUSED":
      return "connection refused";
    case "ECONNRESET":
      return "the connection was closed before an answer came";
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `there is no route to ${host}`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the name ${host} has no address (${code})`;
    case "EPROTO":
      return "no TLS at this port";
    default:
      return undefined;
  }
}
