import { expect } from "bun:test";
import { installPackages } from "./host-packages.ts";
import type { PrivateRoot } from "./private-root.ts";
import { output } from "./state-trips.ts";

/** The registry in a private root, which Docker trusts because of its loopback address. */
export const registry = "127.0.0.1:5000";

/** Who may use the registry. */
export const login = { username: "builder", password: "let's hush" };

/** Installs and starts Docker as its package does, and a registry that asks for a password. It needs systemd. */
export async function startDocker(root: PrivateRoot): Promise<void> {
  await installPackages(root, "docker");
  const hash = await Bun.password.hash(login.password, { algorithm: "bcrypt", cost: 4 });
  const script = `set -e
ip link set lo up
mkdir -p /etc/docker
echo '{"storage-driver": "vfs"}' >/etc/docker/daemon.json
echo '${login.username}:${hash}' >/srv/registry.users
cat >/srv/registry.yml <<'END'
version: 0.1
log: {level: debug}
storage: {filesystem: {rootdirectory: /srv/registry}}
http: {addr: "${registry}"}
auth: {htpasswd: {realm: test, path: /srv/registry.users}}
END
systemd-run --quiet --unit registry docker-registry serve /srv/registry.yml
systemctl start docker
docker login --username ${login.username} --password-stdin ${registry} >/dev/null 2>&1 <<'END'
${login.password}
END`;
  expect(await output(root, script)).toBe("");
}

/** Builds an image of one program and a file, and pushes it. It stays in the registry alone. */
export async function pushImage(root: PrivateRoot, image: string, content: string): Promise<void> {
  const script = `set -e
rm -rf /srv/image
mkdir -p /srv/image/bin
cd /srv/image
cp /bin/busybox bin/
for each in sh sleep cat; do ln -s busybox bin/$each; done
echo '${content}' >content
{
  tar -c . | docker import - svc-test-new
  docker tag svc-test-new ${image}
  docker push ${image}
  docker rmi svc-test-new ${image}
} >/dev/null`;
  expect(await output(root, script)).toBe("");
}
