import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import { startPublisher } from "../../fleet/bootstrap/mod.ts";
import { type BootstrapDocument, createDocument } from "../../identity/bootstrap/mod.ts";
import { spkiPin } from "../../identity/trust/mod.ts";
import type { CertificateSource } from "../certificate/mod.ts";

/** The bootstrap document of this master, which follows the root of the CA, and is published in the bucket. */
export function startDocument(options: {
  certificates: CertificateSource;
  /** `bus_advertise_urls` */
  urls: readonly string[];
  /** Public keys. */
  commandKeys: readonly string[];
  /** The bucket `secrets`. */
  secrets: Bucket;
  clock: Clock;
  log: Log;
}): { current(): BootstrapDocument; stop(): void } {
  const { certificates, urls, commandKeys, secrets, clock, log } = options;
  const describeFleet = () => {
    const { root } = certificates.current();
    return createDocument(
      {
        ca_bundle_pem: root?.pem ?? "",
        fingerprint: root?.pin ?? "",
        nats_urls: [...urls],
        command_keys: [...commandKeys],
      },
      clock.now(),
    );
  };
  let document = describeFleet();
  const publisher = startPublisher({ secrets, document, pinOf: spkiPin, clock, log });
  const forget = certificates.onChange(({ root }) => {
    if ((root?.pem ?? "") === document.ca_bundle_pem) return;
    document = describeFleet();
    publisher.update(document);
  });
  return {
    current: () => document,
    stop() {
      forget();
      publisher.stop();
    },
  };
}
