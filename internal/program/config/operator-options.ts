import { inGroup, type OptionTable, option } from "./option.ts";
import { operatorOtlpOptions } from "./otlp.ts";
import { integer, path } from "./scalar.ts";
import { busUrls } from "./url.ts";

/** Every key of the `svc` tool (specification, "Operator CLI configuration"). They have no flags. */
export const operatorOptions = {
  ...inGroup(
    "Operator",
    {
      "master.urls": option(busUrls, ["tls://localhost:4222"], "URLs of the message bus"),
      "master.creds_file": option(path, "", "bus credentials of the operator"),
      "master.nkey_seed_file": option(
        path,
        "",
        "bus NKey seed of the operator, instead of a credentials file",
      ),
      "master.operator_file": option(
        path,
        "",
        "operator file, whose key signs requests; without creds_file also the bus credentials and addresses",
      ),
      "master.tls_cert": option(path, "", "client certificate for the bus, together with master.tls_key"),
      "master.tls_key": option(path, "", "private key of master.tls_cert"),
      "master.tls_ca": option(path, "", "CA file that verifies the bus server"),
      "master.confirm_above": option(
        integer(0, 1_000_000),
        25,
        "number of peels above which svc run, rollout start and upgrade ask the person at a terminal before they run anything",
      ),
    },
    { flag: null },
  ),
  ...operatorOtlpOptions,
} satisfies OptionTable;
