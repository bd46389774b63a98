// For routes that browsers open: HTML whose inserted texts are escaped, and the cookies that bind consents and sign-ins to the
// browser that began them. Cold path.
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlPart = string | number | Html | readonly Html[];

/** A tag for templates of HTML, which escapes the inserted strings. */
export function html(texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(texts.map((text, index) => text + htmlOf(parts[index] ?? '')).join(''));
}

export function htmlPage(title: string, style: string, body: Html, head = new Html('')): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        ${head} ${new Html(`<style>${style}</style>`)}
      </head>
      <body>
        ${body}
      </body>
    </html>`.text;
}

/** The directive of a content security policy that allows this style and no other. */
export function styleSource(style: string): string {
  return `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`;
}

/** The text as HTML; what is in backticks becomes `code`. */
export function textWithCode(text: string): Html {
  return new Html(escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>'));
}

function htmlOf(part: HtmlPart): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return escapeHtml(String(part));
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The value of the cookie; `''` if no cookie of this name has a value that matches the pattern. */
export function cookieIn({ headers: { cookie = '' } }: FastifyRequest, name: string, pattern: RegExp): string {
  for (const pair of cookie.split(/; */)) {
    const [each, value = ''] = pair.split('=', 2);
    if (each === name && pattern.test(value)) return value;
  }
  return '';
}

interface CookieRules {
  readonly path: string;
  readonly maxAgeMs: number;
  /** `Lax`: also sent when a page of another site leads here. */
  readonly sameSite: 'Lax' | 'Strict';
  readonly isTls: boolean;
}

export function setCookie(reply: FastifyReply, name: string, value: string, rules: CookieRules): void {
  const { path, maxAgeMs, sameSite, isTls } = rules;
  const attributes = `Path=${path}; Max-Age=${maxAgeMs / 1_000}; HttpOnly; SameSite=${sameSite}${isTls ? '; Secure' : ''}`;
  reply.header('set-cookie', `${name}=${value}; ${attributes}`);
}
