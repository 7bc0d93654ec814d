/** The relevant part of a package-lock.json (lockfileVersion 3). */
export interface Lock {
  name: string;
  version: string;
  packages: Record<
    string,
    {
      version?: string;
      integrity?: string;
      license?: string;
      dependencies?: Record<string, string>;
      devDependencies?: Record<string, string>;
      optionalDependencies?: Record<string, string>;
      peerDependencies?: Record<string, string>;
    }
  >;
}

/** Name, version and package-url of a component. */
interface Named {
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
}

interface Component extends Named {
  type: "library" | "platform";
  hashes: { alg: "SHA-512" | "SHA-256"; content: string }[];
  licenses?: { expression: string }[];
}

/** A bill of materials (CycloneDX 1.6, as JSON). */
export interface Sbom {
  $schema: string;
  bomFormat: "CycloneDX";
  specVersion: "1.6";
  version: 1;
  metadata: { timestamp: string; component: Named & { type: "application" } };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** A nats-server inside the masters of a release. */
export interface CarriedServer {
  version: string;
  /** SHA-256 of the program, hexadecimal. */
  sha256: string;
}

const prefix = "node_modules/";
/** For npm the runtime is a build tool, but it is part of every executable. */
const runtime = "bun";

/**
 * Lists the components of the executables: the runtime, the dependencies of the product, and their transitive
 * dependencies. Build tools of the manifest are excluded, even as peer dependencies. Packages for some
 * platforms only are included.
 *
 * @param time of the release, in seconds since 1970
 * @param servers inside the masters
 * @throws Error for a package without version or digest
 */
export function describeParts(lock: Lock, time: number, servers: readonly CarriedServer[] = []): Sbom {
  const root = lock.packages[""] ?? {};
  const reached = new Map<string, string[]>();
  const reach = (path: string): void => {
    if (reached.has(path)) return;
    const needed = path === prefix + runtime ? [] : neededBy(lock, path);
    reached.set(path, needed);
    for (const next of needed) reach(next);
  };
  const direct = [...Object.keys(root.dependencies ?? {}), runtime].map((name) => prefix + name).sort();
  for (const path of direct) reach(path);
  const refOf = (path: string) => purlOf(nameOf(path), lock.packages[path]?.version ?? "");
  const paths = [...reached.keys()].sort();
  const ref = `pkg:generic/${lock.name}@${lock.version}`;
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      component: { type: "application", "bom-ref": ref, name: lock.name, version: lock.version, purl: ref },
    },
    components: [...paths.map(componentOf), ...servers.map(serverComponent)],
    dependencies: [
      { ref, dependsOn: [...direct.map(refOf), ...servers.map(refOfServer)].sort() },
      ...paths.map((path) => ({
        ref: refOf(path),
        dependsOn: [...new Set((reached.get(path) ?? []).map(refOf))].sort(),
      })),
    ],
  };

  function componentOf(path: string): Component {
    const { version, integrity, license } = lock.packages[path] ?? {};
    if (version === undefined || integrity === undefined) {
      throw new Error(`${path} has no version or no digest in the lock file`);
    }
    return {
      type: path === prefix + runtime ? "platform" : "library",
      "bom-ref": refOf(path),
      name: nameOf(path),
      version,
      purl: refOf(path),
      hashes: [hashOf(integrity)],
      ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    };
  }
}

function refOfServer({ version, sha256 }: CarriedServer): string {
  return `pkg:golang/github.com/nats-io/nats-server/v2@v${version}?checksum=sha256:${sha256}`;
}

function serverComponent(server: CarriedServer): Component {
  const ref = refOfServer(server);
  return {
    type: "platform",
    "bom-ref": ref,
    name: "nats-server",
    version: server.version,
    purl: ref,
    hashes: [{ alg: "SHA-256", content: server.sha256 }],
    licenses: [{ expression: "Apache-2.0" }],
  };
}

/** The lock file entries of the dependencies of a package. */
function neededBy({ packages }: Lock, path: string): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
  const tools = packages[""]?.devDependencies ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
    .filter((name) => !Object.hasOwn(tools, name))
    .flatMap((name) => placesOf(path, name).find((place) => Object.hasOwn(packages, place)) ?? []);
}

/** Possible locations of a dependency: the package's own modules, then each parent up to the root. */
function placesOf(path: string, name: string): string[] {
  const above = path.split(`/${prefix}`);
  return above
    .map((_, index) => `${above.slice(0, above.length - index).join(`/${prefix}`)}/${prefix}${name}`)
    .concat(prefix + name);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(prefix) + prefix.length);
}

/** package-url, type npm: the at sign of a scope is escaped. */
function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** npm writes `<algorithm>-<base64>`. */
function hashOf(integrity: string): { alg: "SHA-512"; content: string } {
  const digest = /^sha512-([\w+/=]+)$/.exec(integrity)?.[1];
  if (digest === undefined) throw new Error(`${integrity} is not a SHA-512 digest`);
  return { alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") };
}
