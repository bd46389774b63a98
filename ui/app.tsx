// The frame of every page: who is signed in, the navigation, and the page that the address names.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Link, Route, Router, Switch, useLocation } from 'wouter-preact';
import { useCaller } from './api/caller.js';
import { isSignedIn, signOut, subject } from './api/session.js';
import { mayMake } from './model/permission.js';
import { AuditPage } from './pages/audit.js';
import { ComposePage } from './pages/compose.js';
import { CompositionsPage } from './pages/compositions.js';
import { ExplainPage } from './pages/explain.js';
import { OverviewPage } from './pages/overview.js';
import { PlaygroundPage } from './pages/playground.js';
import { RegisterPage } from './pages/register.js';
import { ServerPage } from './pages/server.js';
import { ServersPage } from './pages/servers.js';
import { SignInPage } from './pages/sign-in.js';
import { Announcements } from './parts/announcements.js';
import { Said } from './parts/said.js';

const PLACES = [
  ['/', 'Overview'],
  ['/servers', 'Servers'],
  ['/playground', 'Playground'],
  ['/compose', 'Compose'],
  ['/explain', 'Explain'],
  ['/audit', 'Audit'],
] as const;

export function App(): JSX.Element {
  return (
    <Router base="/ui">
      {isSignedIn.value ? <Frame /> : <SignInPage />}
      <Announcements />
    </Router>
  );
}

function Frame(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const isMaker = mayMake(useCaller());
  const [path] = useLocation();
  // The title names the page: screen readers announce it.
  useEffect(() => {
    document.title = `${PLACES.find(([place]) => isWithin(path, place))?.[1] ?? 'Console'} · Switchyard`;
  }, [path]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the page
      </a>
      <header class="top">
        <span class="brand">Switchyard</span>
        <nav aria-label="Pages">
          {PLACES.filter(([place]) => isMaker || place !== '/audit').map(([place, name]) => (
            <Link key={place} href={place} aria-current={isWithin(path, place) ? 'page' : undefined}>
              {name}
            </Link>
          ))}
        </nav>
        <span class="who">
          <Said text={subject.value} max={40} />
          <button type="button" class="quiet" onClick={() => signOut('')}>
            Sign out
          </button>
        </span>
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        <Switch>
          <Route path="/servers" component={ServersPage} />
          <Route path="/servers/new" component={RegisterPage} />
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
            <h1>Page not found</h1>
            <p>
              There is no page of the console at this address. <Link href="/servers">Go to the servers</Link>
            </p>
          </Route>
        </Switch>
      </main>
    </>
  );
}

function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}
