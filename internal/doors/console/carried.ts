import { type ConsoleBundle, readBundle } from "./bundle.ts";

/** The pages inside this executable; `undefined` where it was not built with them, as when it runs from source. */
export async function carriedBundle(): Promise<ConsoleBundle | undefined> {
  const file = Bun.embeddedFiles.find((one) => "name" in one && /^console\b/.test(String(one.name)));
  return file === undefined ? undefined : readBundle(new Uint8Array(await file.arrayBuffer()));
}
