// A request as a curl command line. The token is a variable, because copied commands are soon pasted where others read them.

export interface ShownRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const TOKEN_VARIABLE = 'SWITCHYARD_TOKEN';

export function curlText({ url, headers, body }: ShownRequest): string {
  const told = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const authorization = `-H "authorization: Bearer $${TOKEN_VARIABLE}"`;
  return ['curl -sSN', quoted(url), authorization, ...told, `--data-binary ${quoted(body)}`].join(' \\\n  ');
}

/** Quotes any text as a single shell word. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
