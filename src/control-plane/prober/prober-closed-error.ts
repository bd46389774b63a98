// Separate from the prober, which imports the SDK: the main thread uses this error but never loads the SDK.

/** The prober was closed before the probe was over: nothing is known of the server. */
export class ProberClosedError extends Error {
  override readonly name = 'ProberClosedError';

  constructor() {
    super('the gateway is stopping');
  }
}
