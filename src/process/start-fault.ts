// Faults that keep a plane from starting. Cold path.
import { formatAddress, type ListenAddress } from '../config/index.js';
import { exitStatus } from '../shared/index.js';

/** Keeps a plane from starting. The message is one line for an operator: what cannot be done, and what to do about it. */
export class StartFault extends Error {
  override readonly name = 'StartFault';
  readonly exitStatus: number;

  constructor(status: typeof exitStatus.unavailable | typeof exitStatus.cannotCreate, message: string, cause: unknown) {
    super(message, { cause });
    this.exitStatus = status;
  }
}

/** The fault for an address that cannot be listened on. @param optionName the option that sets the address. */
export function listenFault(address: ListenAddress, optionName: string, error: unknown): StartFault {
  const advice = `${adviceFor(error)}, or choose another address with ${optionName}`;
  return new StartFault(exitStatus.unavailable, `cannot listen on ${formatAddress(address)}: ${advice}`, error);
}

function adviceFor(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EADDRINUSE':
      return 'it is in use; stop the program that listens there (`ss -ltnp` shows it)';
    case 'EACCES':
      return 'not allowed; ports below 1024 need CAP_NET_BIND_SERVICE';
    case 'EADDRNOTAVAIL':
      return 'no interface of this machine has that address; correct it';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name is not known; correct it';
    default:
      return message;
  }
}
