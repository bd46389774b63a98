// What a backend is told about the client's HTTP request on whose behalf a message is sent. It travels with the message, as one object,
// from the code that has the request to the code that writes the head; further such data belongs here as a member.

export interface RequestMetadata {
  /** The caller's headers for this backend: name, value, … */
  readonly headers: readonly string[];
  /** The id of the client's HTTP request; `''` where the backend is not told. */
  readonly requestId: string;
  /** The caller's bearer token, where the backend's `auth` exchanges it; used for nothing else. `''` otherwise. */
  readonly callerToken: string;
}

/** For messages that the gateway sends on its own account. */
export const NO_METADATA: RequestMetadata = Object.freeze({
  headers: Object.freeze([]),
  requestId: '',
  callerToken: '',
});
