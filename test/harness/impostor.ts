import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { createAuthority } from "../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import type { LeafUsage } from "../../internal/identity/ca/leaf.ts";
import { type Authority, loadAuthority } from "../../internal/identity/ca/load.ts";
import { spkiPin } from "../../internal/identity/trust/pin.ts";
import { temporaryDirectory } from "./temporary.ts";

const day = 24 * 3600_000;

/** A certificate authority of a test, honest or not. */
export interface TestAuthority {
  readonly rootPem: string;
  readonly pin: string;
  /** PEM of leaf and intermediate, and of the key; for localhost, for a day, unless said otherwise. */
  issue(options?: {
    names?: readonly string[];
    /** When the certificate is made, for one that has expired since. */
    at?: number;
    usage?: LeafUsage;
  }): Promise<{ cert: string; key: string }>;
}

/** Makes an authority; two of the same organization have the same names and other keys. */
export async function testAuthority(organization: string): Promise<TestAuthority> {
  using files = temporaryDirectory("authority");
  const dir = join(files.path, "ca");
  const clock = { ...systemClock, now: () => systemClock.now() - 30 * day };
  await createAuthority({ dir, organization, rootValidityMs: 3650 * day, clock, random: systemRandom });
  const authority: Authority = await loadAuthority(dir);
  return {
    rootPem: authority.rootPem,
    pin: spkiPin(authority.rootPem),
    async issue({ names = ["localhost"], at = systemClock.now(), usage = "enroll" } = {}) {
      const issued = await issueCertificate(authority, {
        commonName: "test",
        names,
        usage,
        validityMs: day,
        clock: { ...systemClock, now: () => at },
        random: systemRandom,
      });
      return { cert: issued.certPem, key: issued.keyPem };
    },
  };
}

/** An HTTPS server with responses that a test defines. */
export interface Impostor extends AsyncDisposable {
  /** `https://localhost:<port>` */
  readonly url: string;
  /** Paths that were asked for, with their methods. */
  readonly requests: string[];
}

export function startImpostor(options: {
  tls: { cert: string; key: string };
  answer: (request: Request, url: URL) => Response | Promise<Response>;
  port?: number;
}): Impostor {
  const requests: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: options.port ?? 0,
    tls: options.tls,
    idleTimeout: 0,
    fetch(request) {
      const url = new URL(request.url);
      requests.push(`${request.method} ${url.pathname}`);
      return options.answer(request, url);
    },
  });
  return {
    url: `https://localhost:${server.port}`,
    requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
