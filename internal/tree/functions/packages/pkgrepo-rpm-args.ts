import type { ArgSpec } from "../../../host/modules/mod.ts";

const flag = (doc: string) => ({ type: "any", doc }) as const;

/** Options of a file in /etc/yum.repos.d, by the names that dnf gives them. */
export const rpmArgs = {
  baseurl: { type: "strings", doc: "With dnf and yum, addresses of the repository." },
  mirrorlist: { type: "string", doc: "With dnf and yum, address of a list of mirrors." },
  metalink: { type: "string", doc: "With dnf and yum, address of a metalink of the repository." },
  gpgkey: { type: "strings", doc: "With dnf and yum, addresses of the keys that sign the packages." },
  gpgcheck: flag("With dnf and yum, whether signatures of packages are verified."),
  repo_gpgcheck: flag("With dnf and yum, whether the signature of the repository is verified."),
  sslverify: flag("With dnf and yum, whether the certificate of the server is verified."),
  sslcacert: { type: "string", doc: "With dnf and yum, file with the authorities of the server." },
  sslclientcert: { type: "string", doc: "With dnf and yum, file with the certificate of this host." },
  sslclientkey: { type: "string", doc: "With dnf and yum, file with the key of this host." },
  priority: flag("With dnf and yum, lower numbers are preferred."),
  cost: flag("With dnf and yum, cost of access, relative to other repositories."),
  enabled_metadata: flag("With dnf and yum, written as it is."),
  failovermethod: { type: "string", doc: "With yum, priority or roundrobin." },
  skip_if_unavailable: flag("With dnf and yum, whether a server that does not answer is skipped."),
  metadata_expire: flag("With dnf and yum, how long the lists are kept."),
  module_hotfixes: flag("With dnf, whether module filters are ignored."),
  exclude: { type: "strings", doc: "With dnf and yum, packages that are not taken from it." },
  includepkgs: { type: "strings", doc: "With dnf and yum, the only packages that are taken from it." },
  proxy: { type: "string", doc: "With dnf and yum, address of a proxy." },
  username: { type: "string", doc: "With dnf and yum, user name at the server." },
  password: { type: "string", doc: "With dnf and yum, password at the server; it is not shown." },
  gpgautoimport: flag("Accepted and not used: it is an option of zypper."),
} as const satisfies Record<string, ArgSpec>;
