import { expect, test } from "bun:test";
import { createServer } from "node:net";
import { assertFree, listenAddressOf } from "./port.ts";

test("the address is read as svc writes it", () => {
  expect(listenAddressOf('server_name: "a"\nlisten: "127.0.0.1:4222"\n')).toEqual({
    host: "127.0.0.1",
    port: 4222,
  });
  expect(listenAddressOf("listen: 0.0.0.0:4222\n")).toEqual({ host: "0.0.0.0", port: 4222 });
  expect(listenAddressOf('cluster {\n  listen: "0.0.0.0:6222"\n}\n')).toBeUndefined();
  expect(listenAddressOf("port: 4222\n")).toBeUndefined();
});

test("a used port is refused with its address, and a free port stays free", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("it has no port");
  const address = { host: "127.0.0.1", port: bound.port };
  await expect(assertFree(address)).rejects.toThrow(
    `the bus cannot listen on 127.0.0.1:${bound.port}: the address is already in use by another program`,
  );
  await new Promise((resolve) => server.close(resolve));
  await assertFree(address);
  await assertFree(address);
});
