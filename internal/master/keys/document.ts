import { encodeBase64 } from "../../base/base64.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { startPublisher } from "../../fleet/bootstrap/mod.ts";
import type { Sites } from "../../fleet/sites/mod.ts";
import {
  type BootstrapDocument,
  createDocument,
  documentTag,
  rotationMessage,
} from "../../identity/bootstrap/mod.ts";
import type { Signer } from "../../identity/mod.ts";
import { spkiPin } from "../../identity/trust/mod.ts";
import type { CertificateSource, EnrollCertificate } from "../certificate/mod.ts";
import type { Keyring } from "./keyring.ts";

/** The bootstrap document of this master, which follows the root of the CA, and is published in the bucket. */
export function startDocument(options: {
  certificates: CertificateSource;
  /** `bus_advertise_urls` */
  urls: readonly string[];
  /**
   * Both command keys are sent while one replaces the other. The one in use signs what peels get about
   * the rotation of a root.
   */
  keyring: Pick<Keyring, "publicKeys" | "signer" | "onChange">;
  /** Public keys. */
  recoveryKeys: readonly string[];
  sites: Pick<Sites, "open" | "onChange">;
  /** The bucket `secrets`. */
  secrets: Bucket;
  clock: Clock;
  log: Log;
}): { current(): BootstrapDocument; stop(): void } {
  const { certificates, urls, keyring, recoveryKeys, sites, secrets, clock, log } = options;
  const describeFleet = () =>
    createDocument(
      {
        ...trustIn(certificates.current(), keyring.signer),
        nats_urls: [...urls],
        ...sitesIn(sites),
        command_keys: [...keyring.publicKeys],
        recovery_keys: [...recoveryKeys],
      },
      clock.now(),
    );
  let document = describeFleet();
  const publisher = startPublisher({ secrets, document, pinOf: spkiPin, clock, log });
  const follow = () => {
    const next = describeFleet();
    if (documentTag(next) === documentTag(document)) return;
    document = next;
    publisher.update(document);
  };
  const forget = certificates.onChange(follow);
  const forgetKeys = keyring.onChange(follow);
  const forgetSites = sites.onChange(follow);
  return {
    current: () => document,
    stop() {
      forget();
      forgetKeys();
      forgetSites();
      publisher.stop();
    },
  };
}

/** Where peels of sites connect. */
function sitesIn(sites: Pick<Sites, "open">): Pick<BootstrapDocument, "sites"> {
  const open = sites.open();
  if (open.length === 0) return {};
  return { sites: Object.fromEntries(open.map(({ name, urls }) => [name, [...urls]])) };
}

/** What a document says of the root, and of its rotation. */
function trustIn(
  { root, rotation, inForce }: Pick<EnrollCertificate, "root" | "rotation" | "inForce">,
  command: Signer,
): Pick<
  BootstrapDocument,
  "ca_bundle_pem" | "fingerprint" | "fingerprints" | "trust_rotation" | "ca_cross_pem"
> {
  if (root === undefined) return { ca_bundle_pem: "", fingerprint: "" };
  const crosses = inForce?.crosses ?? [];
  const crossed = crosses.length === 0 ? {} : { ca_cross_pem: crosses.map((pem) => `${pem}\n`).join("") };
  if (rotation === undefined) return { ca_bundle_pem: root.pem, fingerprint: root.pin, ...crossed };
  const { phase, next } = rotation;
  return {
    ca_bundle_pem: root.pem + next.pem,
    fingerprint: root.pin,
    fingerprints: [root.pin, next.pin],
    ...crossed,
    trust_rotation: {
      phase,
      next_fingerprint: next.pin,
      signature: encodeBase64(command.sign(rotationMessage(phase, root.pin, next.pin))),
      key: command.publicKey,
    },
  };
}
