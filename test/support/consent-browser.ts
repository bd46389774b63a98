// The parts of a user's browser that a consent needs, without a real browser: it keeps cookies by origin, follows redirects,
// and submits the one form that it is shown.

export interface PageAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export class ConsentBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();
  readonly #who: string;

  /** @param who the user's name at authorization servers. */
  constructor(who: string) {
    this.#who = who;
  }

  /** Opens the control plane's page. */
  async open(link: string): Promise<PageAnswer> {
    return pageOf(await this.#fetch(link));
  }

  /** @returns the address that the browser is redirected back to, not opened yet. */
  async consent(link: string): Promise<string> {
    const { text } = await this.open(link);
    const begun = await this.submit(link, ticketIn(text));
    const [, address = ''] = /id="onward" href="([^"]*)"/.exec(begun.text) ?? [];
    return this.sentBack(address.replaceAll('&amp;', '&'));
  }

  /** @param address at the authorization server. @returns the address that the browser is redirected back to, not opened yet. */
  async sentBack(address: string): Promise<string> {
    let next = address;
    for (let i = 0; i < 10; i++) {
      const answer = await this.#fetch(next);
      const location = answer.headers.get('location');
      if (location === null) throw new Error(`not sent back: ${answer.status} ${await answer.text()}`);
      next = new URL(location, next).href;
      if (/\/callback\?/.test(next)) return next;
    }
    throw new Error('sent around for ever');
  }

  /** Submits the page's form. */
  async submit(link: string, ticket: string): Promise<PageAnswer> {
    const [page = ''] = link.split('?', 1);
    return pageOf(await this.#fetch(page, { method: 'POST', body: new URLSearchParams({ ticket }) }));
  }

  /** Performs the whole consent. */
  async connect(link: string): Promise<PageAnswer> {
    return this.open(await this.consent(link));
  }

  async #fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>([['who', this.#who]]);
    this.#cookies.set(origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...init, redirect: 'manual', headers: { cookie, origin } });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(set)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }
}

export function ticketIn(page: string): string {
  const [, ticket = ''] = /name="ticket" value="([^"]*)"/.exec(page) ?? [];
  return ticket;
}

async function pageOf(answer: Response): Promise<PageAnswer> {
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}
