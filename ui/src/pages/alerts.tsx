// Alerts of the rules for Prometheus, as the controller evaluates them.

import { path } from '../api';
import { many, when } from '../format';
import { Badge, Shown, Table } from '../parts';
import { to, useRead } from '../state';
import type { Alert, Alerts } from '../types';

export function useAlerts(isWanted: boolean) {
  return useRead<Alerts>(isWanted ? path(['alerts']) : null);
}

/** Alerts that fire, as a list for the first page. */
export function Firing({ alerts }: { alerts: Alerts }) {
  if (alerts.items.length === 0) return null;
  return (
    <section class="notice bad">
      <h2><a href={to(['alerts'])}>{many(alerts.items.length, 'alert')} firing</a></h2>
      <ul>{alerts.items.slice(0, 5).map((alert) => <li><Badge of={alert.severity} /> {alert.summary} <Since alert={alert} /></li>)}</ul>
      {alerts.items.length > 5 && <p><a href={to(['alerts'])}>and {alerts.items.length - 5} more</a></p>}
    </section>
  );
}

function Since({ alert }: { alert: Alert }) {
  return alert.since ? <span class="dim">since {when(alert.since)}</span> : <span class="dim">start unknown</span>;
}

export function AlertsPage() {
  const alerts = useAlerts(true);
  return (
    <>
      <h1>Alerts</h1>
      <p>Rules of <code>packaging/prometheus/wayleave.rules.yaml</code>, evaluated by this controller.</p>
      {alerts.trouble?.status === 404 ? <p class="notice">Unknown: this controller does not evaluate alert rules.</p> : (
        <Shown of={alerts} what="alerts">
          {({ items, rules, unknown }) => (
            <>
              {items.length === 0 && <p class="verdict">None of the {many(rules - unknown.length, 'rule')} that this controller evaluates fires.</p>}
              {items.length > 0 && (
                <Table caption="Firing alerts" items={items} rowKey={(alert) => `${alert.name} ${JSON.stringify(alert.labels ?? {})}`} columns={[
                  { head: 'Alert', cell: (alert) => <span class="name">{alert.name}</span> },
                  { head: 'Severity', cell: (alert) => <Badge of={alert.severity} /> },
                  { head: 'Since', cell: (alert) => (alert.since ? when(alert.since) : 'unknown') },
                  { head: 'Summary', cell: (alert) => <>{alert.summary} <span class="dim">{alert.description}</span></> },
                  { head: 'Labels', cell: (alert) => Object.entries(alert.labels ?? {}).map(([key, value]) => <><code>{key}={value}</code> </>) },
                ]} />
              )}
              {unknown.length > 0 && <>
                <h2>Not evaluated</h2>
                <p>The state of {many(unknown.length, 'rule')} is unknown to this controller:</p>
                <ul class="plain-list">{unknown.map(({ name, reason }) => <li><strong>{name}</strong>: {reason}</li>)}</ul>
              </>}
            </>
          )}
        </Shown>
      )}
    </>
  );
}
