// Registering a new server: the user previews it first, and registers it if it is the right one.
import type { JSX } from 'preact';
import { useLocation } from 'wouter-preact';
import { useCaller } from '../api/caller.js';
import { mayMake } from '../model/permission.js';
import { Crumb } from '../parts/crumb.js';
import { useTitle } from '../parts/title.js';
import { ServerForm } from './server-form.js';

export function RegisterPage(): JSX.Element {
  const [, navigate] = useLocation();
  const caller = useCaller();
  useTitle('Register a server');
  return (
    <>
      <div class="heading">
        <div>
          <div class="titled">
            <Crumb to="/servers" />
            <h1>Register a server</h1>
          </div>
          <p class="note">Test the connection first: you see what the server offers before anything is saved.</p>
        </div>
      </div>
      {caller !== undefined && !mayMake(caller) ? (
        <div class="notice">
          <p>Registering servers requires the role editor.</p>
        </div>
      ) : (
        <ServerForm onDone={({ id }) => navigate(`/servers/${id}`)} onCancel={() => navigate('/servers')} />
      )}
    </>
  );
}
