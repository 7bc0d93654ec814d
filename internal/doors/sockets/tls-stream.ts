import { Duplex } from "node:stream";
import type { Socket } from "bun";

type Done = (error?: Error | null) => void;

/**
 * The decrypted side of a connection, as the HTTP server of the runtime reads and writes it. What the socket does not
 * take waits here, and the writer waits with it; while nobody reads, nothing is read from the client.
 */
export class TlsStream extends Duplex {
  readonly #socket: Socket<unknown>;
  #waiting: { rest: Uint8Array; done: Done } | undefined;
  #isPaused = false;
  #isEnded = false;

  constructor(socket: Socket<unknown>) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
  }

  /** Bytes came from the client. */
  received(bytes: Uint8Array): void {
    if (this.destroyed || this.push(bytes)) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** The socket takes bytes again. */
  drained(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) this.#send(waiting.rest, waiting.done);
  }

  /** The client has gone. */
  clientGone(): void {
    this.push(null);
    this.destroy();
  }

  /** Ends the connection once what was written has been sent. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  override _read(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  override _write(bytes: Uint8Array, _encoding: unknown, done: Done): void {
    this.#send(bytes, done);
  }

  override _writev(chunks: readonly { chunk: Uint8Array }[], done: Done): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: Done): void {
    this.#isEnded = true;
    this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    // What the system has of an ended connection still goes out: a reset would discard it.
    if (!this.#isEnded) this.#socket.terminate();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.done(new Error("the connection was closed"));
    done(error);
  }

  #send(bytes: Uint8Array, done: Done): void {
    const taken = this.#socket.write(bytes);
    if (taken < 0) done(new Error("the connection was closed"));
    else if (taken >= bytes.length) done();
    else this.#waiting = { rest: bytes.subarray(taken), done };
  }
}
