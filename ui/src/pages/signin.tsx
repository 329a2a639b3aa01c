// Form for the token of an operator, a reader or a tenant.

import { useState } from 'preact/hooks';
import { Field } from '../parts';

/** Reason why a token is required, with its title. */
export interface SignedOut { title: string; text: string }

export function SignIn({ why, done }: { why: SignedOut | undefined; done: (secret: string) => void }) {
  const [secret, setSecret] = useState('');
  return (
    <main class="sign-in">
      <h1>Wayleave</h1>
      {why && <p class="notice bad" role="alert"><strong>{why.title}.</strong> {why.text}</p>}
      <form onSubmit={(event) => { event.preventDefault(); if (secret.trim()) done(secret.trim()); }}>
        <Field label="Token" hint="Starts with wl_. It stays in this tab until you sign out or close the tab, and is sent to this controller only.">
          {(id) => <input id={id} type="password" autocomplete="off" required value={secret} onInput={(event) => setSecret(event.currentTarget.value)} autofocus />}
        </Field>
        <button type="submit" class="main">Sign in</button>
      </form>
      <p class="dim">The first operator token is in the file that <code>wayleave serve</code> printed (its name ends with <code>-operator</code>). Create others with <code>wayleave token create</code>. No token is needed with a client certificate that the controller accepts.</p>
    </main>
  );
}
