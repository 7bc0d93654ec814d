import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory } from "../../base/files/new-files.ts";

/**
 * Opens a link in the browser of the desktop. Everyone on this host can read the arguments of a program, so the
 * browser gets a file of this person that leads to the link. The file stays: the link in it is good once.
 *
 * @returns whether a browser was asked to
 */
export function openPage(link: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const isMac = process.platform === "darwin";
  const isDesktop = isMac || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  const opener = isDesktop ? Bun.which(isMac ? "open" : "xdg-open", { PATH: env.PATH ?? "" }) : null;
  if (opener === null) return false;
  const directory = join(env.HOME || homedir(), ".svc");
  const path = join(directory, "console.html");
  try {
    makePrivateDirectory(directory);
    writeFileAtomic(path, pageOf(link), secretMode);
    const browser = spawn(opener, [path], { detached: true, stdio: "ignore", env: definedOf(env) });
    // The link is printed in any case.
    browser.on("error", () => {});
    browser.unref();
    return true;
  } catch {
    return false;
  }
}

/** @param link from `URL` and base64url: it has no character that HTML would read */
const pageOf = (link: string): string =>
  `<!doctype html>\n<meta charset="utf-8">\n<meta name="referrer" content="no-referrer">\n<meta http-equiv="refresh" content="0; url=${link}">\n<title>svc console</title>\n`;

const definedOf = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
