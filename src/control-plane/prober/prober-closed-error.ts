// Apart from the prober, which brings the SDK: the event loop's thread knows this error and never loads that.

/** The prober was closed before the probe was over: nothing is known of the server. */
export class ProberClosedError extends Error {
  override readonly name = 'ProberClosedError';

  constructor() {
    super('the gateway is stopping');
  }
}
