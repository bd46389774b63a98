// The HTTP proxy through which a company's machines reach the outside, and tunnels through it (CONNECT, RFC 9110, 9.3.6). The proxy looks
// up names, so the address guard sees only addresses that stand in a URL. Cold path.
import { BlockList, isIP, type Socket } from 'node:net';
import { KIB } from '../../shared/index.js';

export interface ProxyOptions {
  /** The proxy's host: a name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The value of `proxy-authorization`; `''` for none. */
  readonly authorization: string;
  /** What is reached without the proxy: `*`, `host`, `.domain`, `*.domain`, an address or a network; all but `*` may end with `:port`. */
  readonly exceptions: readonly string[];
}

const TUNNEL_HEAD_BYTES_MAX = 16 * KIB;

const loopbackAddresses = new BlockList();
loopbackAddresses.addSubnet('127.0.0.0', 8, 'ipv4');
loopbackAddresses.addAddress('::1', 'ipv6');

export class OutboundProxy {
  readonly host: string;
  readonly port: number;
  readonly #authorization: string;
  readonly #exceptions: readonly string[];

  constructor({ host, port, authorization, exceptions }: ProxyOptions) {
    this.host = host;
    this.port = port;
    this.#authorization = authorization;
    this.#exceptions = exceptions;
  }

  /** Whether a connection goes through the proxy. @param host a name in lower case, or an address without brackets. */
  appliesTo(host: string, port: number): boolean {
    if (/(^|\.)localhost\.?$/.test(host) || isIn(loopbackAddresses, host)) return false;
    return !this.#exceptions.some((exception) => matchesException(exception, host.replace(/\.$/, ''), port));
  }

  /** Opens a tunnel to an origin. @param authority its `host:port`. @param proxied a socket that is connected to the proxy. */
  openTunnel(authority: string, proxied: Socket, handler: TunnelHandler): Tunnel {
    const authorizationLine = this.#authorization === '' ? '' : `proxy-authorization: ${this.#authorization}\r\n`;
    proxied.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorizationLine}\r\n`);
    return new Tunnel(proxied, handler);
  }
}

interface TunnelHandler {
  onOpen(): void;
  /** Called when the proxy refuses the tunnel; the socket is closed. @param why a text for people, such as `HTTP 407`. */
  onFailed(why: string): void;
}

export class Tunnel {
  readonly timeoutKind = 'connect-timeout';
  readonly #socket: Socket;
  readonly #handler: TunnelHandler;
  #head = '';

  constructor(socket: Socket, handler: TunnelHandler) {
    this.#socket = socket;
    this.#handler = handler;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#fail('closed without a response'));
    socket.on('error', ({ code = 'failed' }: NodeJS.ErrnoException) => this.#fail(code));
  }

  abandon(): void {
    this.#detach();
    this.#socket.on('error', () => {}).destroy();
  }

  #onData(chunk: Buffer): void {
    this.#head += chunk.toString('latin1');
    // Interim responses may come before the final one (RFC 9110, 15.2).
    const head = this.#head.replace(/^(HTTP\/1\.1 1\d\d[^]*?\r\n\r\n)+/, '');
    const end = head.indexOf('\r\n\r\n');
    if (end === -1 && this.#head.length <= TUNNEL_HEAD_BYTES_MAX) return;
    const [, status = ''] = /^HTTP\/1\.[01] (\d{3})/.exec(head) ?? [];
    // A TLS server does not speak first: bytes behind the head are not the origin's.
    if (!status.startsWith('2') || end + 4 !== head.length) {
      this.#fail(status === '' ? 'no HTTP response' : `HTTP ${status}`);
      return;
    }
    this.#detach();
    this.#handler.onOpen();
  }

  #fail(why: string): void {
    this.abandon();
    this.#handler.onFailed(why);
  }

  #detach(): void {
    for (const event of ['data', 'end', 'error']) this.#socket.removeAllListeners(event);
  }
}

function matchesException(exception: string, host: string, port: number): boolean {
  const [, bare = exception, onlyPort] =
    isIP(exception) === 0 ? (/^\[?(.*?)\]?(?::(\d{1,5}))?$/.exec(exception) ?? []) : [exception, exception];
  if (onlyPort !== undefined && Number(onlyPort) !== port) return false;
  if (bare === '*' || bare === host) return true;
  // A single address, in any notation, counts as a network of one address.
  const [, address = bare, length = isIP(bare) === 6 ? 128 : 32] = /^(.+)\/(\d{1,3})$/.exec(bare) ?? [];
  if (isIP(address) !== 0 || address !== bare) return isIn(networkOf(address, Number(length)), host);
  const domain = bare.replace(/^\*?\.?/, '');
  return domain !== '' && isIP(host) === 0 && host.endsWith(`.${domain}`);
}

function networkOf(address: string, length: number): BlockList {
  const network = new BlockList();
  const version = isIP(address);
  if (version !== 0 && length <= (version === 6 ? 128 : 32))
    network.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4');
  return network;
}

function isIn(network: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && network.check(host, version === 6 ? 'ipv6' : 'ipv4');
}
