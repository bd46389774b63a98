// Registering a new server: the user previews it first, and registers it if it is the right one.
import type { JSX } from 'preact';
import { useLocation } from 'wouter-preact';
import { useCaller } from '../api/caller.js';
import { mayMake } from '../model/permission.js';
import { ServerForm } from './server-form.js';

export function RegisterPage(): JSX.Element {
  const [, navigate] = useLocation();
  const caller = useCaller();
  return (
    <>
      <div class="heading">
        <div>
          <h1>Register a server</h1>
          <p class="note">The gateway probes it and shows what it finds. Nothing is saved until you confirm.</p>
        </div>
      </div>
      {caller !== undefined && !mayMake(caller) ? (
        <div class="notice">
          <p>Registering servers requires the role editor.</p>
        </div>
      ) : (
        <ServerForm onDone={({ id }) => navigate(`/servers/${id}`)} />
      )}
    </>
  );
}
