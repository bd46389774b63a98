// The frame of every page: who is signed in, the navigation, and the page that the address names.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Link, Route, Router, Switch, useLocation } from 'wouter-preact';
import { useCaller } from './api/caller.js';
import { isSignedIn, signOut, subject } from './api/session.js';
import type { Choice } from './model/choices.js';
import { mayMake } from './model/permission.js';
import { AuditPage } from './pages/audit.js';
import { ComposePage } from './pages/compose.js';
import { CompositionsPage, useCompositions } from './pages/compositions.js';
import { ExplainPage } from './pages/explain.js';
import { OverviewPage } from './pages/overview.js';
import { PlaygroundPage } from './pages/playground.js';
import { RegisterPage } from './pages/register.js';
import { ServerPage } from './pages/server.js';
import { ServersPage, useServers } from './pages/servers.js';
import { ImportPage } from './pages/servers/import.js';
import { SignInPage } from './pages/sign-in.js';
import { Announcements } from './parts/announcements.js';
import { Empty } from './parts/empty.js';
import { Icon, Logo } from './parts/icon.js';
import { Palette, PaletteButton } from './parts/palette.js';
import { Said } from './parts/said.js';
import { setTheme, ThemeChoice, THEMES } from './parts/theme.js';
import { pageTitle } from './parts/title.js';
import { mayLeave } from './parts/unsaved.js';

const PLACES = [
  ['/', 'Overview', 'overview'],
  ['/servers', 'Servers', 'servers'],
  ['/playground', 'Playground', 'playground'],
  ['/compose', 'Compositions', 'compose'],
  ['/explain', 'Explain', 'explain'],
  ['/audit', 'Audit', 'audit'],
] as const;

export function App(): JSX.Element {
  return (
    <Router base="/ui" aroundNav={(navigate, to, options) => mayLeave() && navigate(to, options)}>
      {isSignedIn.value ? <Frame /> : <SignInPage />}
      <Announcements />
    </Router>
  );
}

function Frame(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const caller = useCaller();
  const [path] = useLocation();
  const title = pageTitle.value || (PLACES.find(([place]) => isWithin(path, place))?.[1] ?? 'Console');
  useEffect(() => void (document.title = `${title} · Switchyard`), [title]);
  // What had the focus is gone with its page, mostly: the next Tab then begins at the page, not at the side bar.
  useEffect(() => {
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the page
      </a>
      <header class="side">
        <span class="brand">
          <Logo />
          <span class="word">Switchyard</span>
        </span>
        <PaletteButton />
        <nav aria-label="Pages">
          {PLACES.filter(([place]) => mayMake(caller) || place !== '/audit').map(([place, name, icon]) => (
            <Link key={place} href={place} aria-current={isWithin(path, place) ? 'page' : undefined}>
              <Icon name={icon} />
              {name}
            </Link>
          ))}
        </nav>
        <div class="who">
          <div class="person">
            <Said text={subject.value} max={40} />
            <span>{caller?.role}</span>
          </div>
          <div class="settings">
            <span class="theme">
              <Icon name="theme" />
              <ThemeChoice />
            </span>
            <button type="button" class="quiet" onClick={() => mayLeave() && signOut('')}>
              Sign out
            </button>
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        <Switch>
          <Route path="/servers" component={ServersPage} />
          <Route path="/servers/new" component={RegisterPage} />
          <Route path="/servers/import" component={ImportPage} />
          <Route path="/servers/:server">{({ server }) => <ServerPage key={server} reference={server} />}</Route>
          <Route path="/playground" component={PlaygroundPage} />
          <Route path="/compose" component={CompositionsPage} />
          <Route path="/compose/:composition">
            {({ composition }) => <ComposePage key={composition} reference={composition} />}
          </Route>
          <Route path="/explain" component={ExplainPage} />
          <Route path="/audit" component={AuditPage} />
          <Route path="/" component={OverviewPage} />
          <Route>
            <div class="heading">
              <h1>Page not found</h1>
            </div>
            <section class="card">
              <Empty icon="search" title="There is no page of the console at this address">
                <Link class="button" href="/">
                  Go to the overview
                </Link>
              </Empty>
            </section>
          </Route>
        </Switch>
      </main>
      <Palette useChoices={useChoices} />
    </div>
  );
}

/** What the palette offers: pages, what one may do, servers and compositions. */
function useChoices(): readonly Choice[] {
  const caller = useCaller();
  const servers = useServers().value;
  const compositions = useCompositions().value;
  return useMemo(() => {
    const isMaker = mayMake(caller);
    const page = (name: string, kind: string, icon: Choice['icon'], path: string): Choice => ({
      ...{ key: `${kind} ${path}`, name, kind, icon, page: path },
    });
    return [
      ...PLACES.filter(([place]) => isMaker || place !== '/audit').map(([place, name, icon]) =>
        page(name, 'page', icon, place),
      ),
      ...(isMaker
        ? [
            page('Register a server', 'action', 'add', '/servers/new'),
            page('Import servers', 'action', 'import', '/servers/import'),
            page('New composition', 'action', 'add', '/compose/new'),
          ]
        : []),
      page('Servers that are not reached', 'search', 'warning', '/servers?status=inactive'),
      ...THEMES.map(([theme, words]): Choice => ({
        ...{ key: `theme ${theme}`, name: `${words} theme`, kind: 'action', icon: 'theme', page: '' },
        act: () => setTheme(theme),
      })),
      {
        ...{ key: 'sign out', name: 'Sign out', kind: 'action', icon: 'leave', page: '' },
        act: () => mayLeave() && signOut(''),
      },
      ...(servers ?? []).map(({ id, name }) => page(name, 'server', 'servers', `/servers/${id}`)),
      ...(compositions ?? []).map(({ id, name }) => page(name, 'composition', 'compose', `/compose/${id}`)),
    ];
  }, [caller, servers, compositions]);
}

function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}
