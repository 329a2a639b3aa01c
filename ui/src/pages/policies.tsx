// Policies of services, and their reservations.

import { path } from '../api';
import { quantity } from '../format';
import { Empty, Failed, Loading, More, Table } from '../parts';
import { usePages } from '../state';

interface Policy {
  name: string;
  spec: { level: string; services: { name: string; parent?: string; transmit?: Terms; receive?: Terms }[] };
  needs: { place: string; direction: string; min: string; links: number }[];
}
interface Terms { min?: string; max?: string; weight?: number }

function terms(terms: Terms | undefined): string {
  return [terms?.min && `minimum ${quantity(terms.min)}`, terms?.max && `maximum ${quantity(terms.max)}`, terms?.weight && `weight ${terms.weight}`].filter(Boolean).join(', ') || '–';
}

export function Policies() {
  const { items, next, trouble, more } = usePages<Policy>(path(['policies'], { limit: 20 }));
  return (
    <>
      <h1>Policies of services</h1>
      {trouble && <Failed trouble={trouble} />}
      {!items && !trouble && <Loading what="policies" />}
      {items?.length === 0 && <Empty>No policies. <code>wayleave apply -f policy.yaml</code> adds one; the controller then reserves its minima.</Empty>}
      {items?.map((policy) => (
        <section>
          <h2>{policy.name} <span class="dim">(level: {policy.spec.level})</span></h2>
          <Table caption={`Services of ${policy.name}`} items={policy.spec.services} rowKey={(service) => service.name} columns={[
            { head: 'Service', cell: (service) => service.name },
            { head: 'Parent', cell: (service) => service.parent ?? '' },
            { head: 'Sends', cell: (service) => terms(service.transmit) },
            { head: 'Receives', cell: (service) => terms(service.receive) },
          ]} />
          {policy.needs.length > 0 && <>
            <h3>Reservations</h3>
            <Table caption={`Reservations of ${policy.name}`} items={policy.needs.slice(0, 50)} rowKey={(need) => `${need.place} ${need.direction}`} columns={[
              { head: 'Contention point', cell: (need) => need.place },
              { head: 'Direction', cell: (need) => need.direction },
              { head: 'Sum of minima', cell: (need) => quantity(need.min), isNumber: true },
              { head: 'Links', cell: (need) => need.links, isNumber: true },
            ]} />
            {policy.needs.length > 50 && <p class="dim">and {policy.needs.length - 50} more</p>}
          </>}
        </section>
      ))}
      <More next={next} more={more} />
    </>
  );
}
