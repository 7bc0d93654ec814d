import { readTextFile } from "../../base/files/file.ts";

/** Reads the optional client certificate for the bus: `undefined` when none is configured. */
export function clientCertificate(
  certFile: string,
  keyFile: string,
): { cert: string; key: string } | undefined {
  if (certFile === "" && keyFile === "") return undefined;
  return {
    cert: readTextFile(certFile, "bus_tls_cert"),
    key: readTextFile(keyFile, "bus_tls_key"),
  };
}
