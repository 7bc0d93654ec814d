import { expect, setDefaultTimeout, test } from "bun:test";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot, type PrivateRoot } from "../harness/private-root.ts";
import { brief, output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

test("packages of npm, from a registry, for all users, a project and a user", async () => {
  await using root = await openPrivateRoot();
  await startRegistry(root);
  await output(root, "useradd -m svc-test && mkdir -p /srv/project && echo '{}' >/srv/project/package.json");
  const there = `
global:
  npm.installed: [{name: svc-test@1.0.0}, {registry: "http://127.0.0.1:4873"}]
project:
  npm.installed: [{pkgs: ["svc-test", "@svc/scoped@1.1.0"]}, {dir: /srv/project}, {registry: "http://127.0.0.1:4873"}]
home:
  npm.installed: [{name: "svc-test@^1.0.0"}, {dir: /home/svc-test}, {user: svc-test}, {registry: "http://127.0.0.1:4873"}]
`;
  const all = (result: string) => `global:${result} project:${result} home:${result}`;
  const probe = "ls /srv/project $(npm root --global) /home/svc-test";
  const before = await output(root, probe);
  expect(await brief(root, there, { test: true })).toBe(all("null+"));
  expect(await output(root, probe)).toBe(before);
  expect(await brief(root, there)).toBe(all("true+"));
  expect(await output(root, "npm list --global --depth=0")).toContain("svc-test@1.0.0");
  expect(await output(root, "cat /srv/project/node_modules/@svc/scoped/package.json")).toContain('"1.1.0"');
  expect(await output(root, "stat -c %U /home/svc-test/node_modules/svc-test")).toBe("svc-test");
  expect(await brief(root, there)).toBe(all("true"));
  // Nothing of npm is left in the root directory, as without a home.
  expect(await output(root, "ls -d /.npm /root/.npm")).toContain("cannot access '/.npm'");
  const newer = "newer:\n  npm.installed: [{name: svc-test@1.1.0}, {registry: http://127.0.0.1:4873}]\n";
  expect(await root.apply(newer)).toMatchObject([
    { result: true, changes: { "svc-test": { old: "1.0.0", new: "1.1.0" } } },
  ]);
  expect(await brief(root, newer)).toBe("newer:true");
  const [missing] = await root.apply(newer.replace("1.1.0", "9.9.9"));
  expect(missing).toMatchObject({ result: false, comment: expect.stringContaining("No matching version") });

  // The registry of a project is in its own file, with its credentials.
  await output(
    root,
    "rm -r /srv/project/node_modules; echo registry=http://127.0.0.1:4873 >/srv/project/.npmrc",
  );
  const bootstrap = "/srv/project:\n  npm.bootstrap: []\n";
  expect(await brief(root, bootstrap)).toBe("/srv/project:true+");
  expect(await brief(root, bootstrap)).toBe("/srv/project:true");
  const gone = `
svc-test:
  npm.removed: []
scoped:
  npm.removed: [{name: "@svc/scoped"}, {dir: /srv/project}]
`;
  expect(await brief(root, gone)).toBe("svc-test:true+ scoped:true+");
  expect(await brief(root, gone)).toBe("svc-test:true scoped:true");
  expect(await output(root, "npm list --global --depth=0")).not.toContain("svc-test");
});

test("gems from a source", async () => {
  await using root = await openPrivateRoot();
  await installPackages(root, "ruby");
  await output(root, gemSource);
  const installed = (rest: string) =>
    `svc-test:\n  gem.installed: [{source: "http://127.0.0.1:8808"}, ${rest}]\n`;
  const first = installed("{version: 1.0.0}");
  const probe = "gem list --local ^svc-test$";
  expect(await brief(root, first, { test: true })).toBe("svc-test:null+");
  expect(await output(root, probe)).toBe("");
  expect(await brief(root, first)).toBe("svc-test:true+");
  expect(await brief(root, first)).toBe("svc-test:true");
  expect(await brief(root, installed("{rdoc: false}"))).toBe("svc-test:true");
  expect(await brief(root, installed("{version: 1.1.0}"))).toBe("svc-test:true+");
  expect(await brief(root, installed("{version: 2.0.0.pre1}, {pre_releases: true}"))).toBe("svc-test:true+");
  expect(await output(root, probe)).toBe("svc-test (2.0.0.pre1, 1.1.0, 1.0.0)");
  const [missing] = await root.apply(installed("{version: 9.9.9}"));
  expect(missing?.comment).toContain("Could not find a valid gem 'svc-test' (= 9.9.9)");
  // Only the given source is asked.
  expect(missing?.comment).not.toContain("rubygems.org");
  const gone = "svc-test:\n  gem.removed: []\njson:\n  gem.removed: []\n";
  expect(await brief(root, gone, { test: true })).toBe("svc-test:null+ json:true");
  expect(await brief(root, gone)).toBe("svc-test:true+ json:true");
  expect(await brief(root, gone)).toBe("svc-test:true json:true");
  expect(await output(root, probe)).toBe("");
});

/** A registry of npm with two packages in two versions, on the loopback interface of the private root. */
async function startRegistry(root: PrivateRoot): Promise<void> {
  const server = `
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
createServer((request, response) => {
  const path = decodeURIComponent(request.url);
  if (path.endsWith(".tgz")) return response.end(readFileSync("/srv/npm" + path));
  const name = path.slice(1);
  const file = "/" + name.replace("@", "").replace("/", "-");
  const version = (version) => [version, { name, version, dist: { tarball: "http://127.0.0.1:4873" + file + "-" + version + ".tgz" } }];
  const versions = Object.fromEntries(["1.0.0", "1.1.0"].map(version));
  response.end(JSON.stringify({ name, "dist-tags": { latest: "1.1.0" }, versions }));
}).listen(4873, "127.0.0.1", () => console.log("ready"));`;
  await root.run(["mkdir", "-p", "/srv/npm"]);
  await root.run(["tee", "/srv/npm/server.mjs"], { stdin: server });
  const script = `
ip link set lo up
cd /srv/npm
for version in 1.0.0 1.1.0; do
  for name in svc-test @svc/scoped; do
    mkdir -p package
    printf '{"name": "%s", "version": "%s"}' $name $version >package/package.json
    npm pack --silent ./package >/dev/null
  done
done
mkfifo started
setsid node server.mjs >started 2>/dev/null &
head -1 started`;
  expect(await output(root, script)).toBe("ready");
}

/** Builds gems and serves them on the loopback interface of the private root. */
const gemSource = `
ip link set lo up
mkdir -p /srv/gems/gems
cd /srv/gems
for version in 1.0.0 1.1.0 2.0.0.pre1; do
  cat >svc-test.gemspec <<END
Gem::Specification.new do |gem|
  gem.name = "svc-test"
  gem.version = "$version"
  gem.summary = gem.author = "test"
end
END
  gem build --silent svc-test.gemspec
  mv svc-test-$version.gem gems/
done
gem generate_index --silent --directory /srv/gems
mkfifo /tmp/log
exec 3<>/tmp/log
setsid ruby -run -e httpd /srv/gems --bind-address=127.0.0.1 --port=8808 >/dev/null 2>&3 &
grep -m 1 start <&3`;
