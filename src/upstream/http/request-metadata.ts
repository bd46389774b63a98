// What a backend is told of the client's HTTP request on whose behalf a message is sent to it. It travels with the message, as
// one object, from whoever has the request to whoever writes the head: what is to go along next is a member here.

export interface RequestMetadata {
  /** The caller's headers for this backend: name, value, … */
  readonly headers: readonly string[];
  /** The id of that HTTP request; `''` where the backend is not told. */
  readonly requestId: string;
  /** The caller's bearer token, where the backend's `auth` exchanges it; it goes nowhere but there. `''` otherwise. */
  readonly callerToken: string;
}

/** Of what the gateway says by itself. */
export const NO_METADATA: RequestMetadata = Object.freeze({
  headers: Object.freeze([]),
  requestId: '',
  callerToken: '',
});
