// Why a consent cannot be given, or did not come about, in words for the user who stands before the page. No secret is in them,
// and of what others have written nothing but a code.

export class ConnectFault extends Error {
  override readonly name = 'ConnectFault';
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
