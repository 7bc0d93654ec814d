/** What an operator can do about a stream whose stored messages the server does not send. */
export const damageAdvice =
  "a stored block may be damaged: stop this bus server, move the directory of the stream below its store_dir away, and start it again; a cluster copies the stream back, and masters put back decisions (operating.md, A damaged stream)";
