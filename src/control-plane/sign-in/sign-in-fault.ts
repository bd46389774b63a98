// Why somebody is not signed in, in words for who stands before the page. No secret is in them, and of what others have written
// nothing but a code.

export class SignInFault extends Error {
  override readonly name = 'SignInFault';
  /** 403: not so, or not here; 422: what came back makes no sense; 503: the issuer, or what it is told here about tokens. */
  readonly status: 403 | 422 | 503;

  constructor(status: 403 | 422 | 503, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
