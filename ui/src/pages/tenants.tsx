// Tenants with quota and usage; a tenant sees only its own.

import { get, path } from '../api';
import { bitrate, count, many, quantity } from '../format';
import { History } from '../history';
import { SUMMED, ofAll, ofTenant } from '../sum';
import { Empty, Failed, Load, LoadLegend, Loading, More, Name, Shown, Table } from '../parts';
import { RATES_MS, to, usePages, useRead, useWorld } from '../state';
import type { Contract, Tenant, TopTraffic, Vm } from '../types';
import { ContractTable } from './contracts';

export function Tenants() {
  const { about } = useWorld();
  return about.tenant === undefined ? <All /> : <TenantPage name={about.tenant} />;
}

function All() {
  const { items, next, trouble, more } = usePages<Tenant>(path(['tenants'], { limit: 100 }));
  const top = useRead<TopTraffic>(path(['traffic'], { limit: SUMMED }));
  return (
    <>
      <h1>Tenants</h1>
      <LoadLegend />
      {trouble && <Failed trouble={trouble} />}
      {!items && !trouble && <Loading what="tenants" />}
      {items && (
        <Table caption="Tenants by name" items={items} rowKey={(tenant) => tenant.name} columns={[
          { head: 'Tenant', cell: (tenant) => <a href={to(['tenant', tenant.name])}><Name of={tenant.name} /></a> },
          { head: 'Contracts', cell: (tenant) => of(count(tenant.usage.contracts), tenant.quota.contracts?.toLocaleString('en')), isNumber: true },
          { head: 'Load', cell: (tenant) => <Load of={ofTenant(top.value, tenant.name)} reservedBps={bitrate(tenant.usage.rate)} isAlone /> },
          { head: 'Reserved rate', cell: (tenant) => of(quantity(tenant.usage.rate), quantity(tenant.quota.rate, Math.floor)), isNumber: true },
          { head: 'Burst', cell: (tenant) => of(quantity(tenant.usage.burst), quantity(tenant.quota.burst, Math.floor)), isNumber: true },
          { head: 'Statement', cell: (tenant) => <a href={to(['statement', tenant.name])}>Statement<span class="hidden"> of {tenant.name}</span></a> },
        ]} />
      )}
      <More next={next} more={more} />
    </>
  );
}

function of(used: string, quota: string | undefined): string {
  return quota ? `${used} of ${quota}` : used;
}

export function TenantPage({ name }: { name: string }) {
  const tenant = useRead<Tenant>(path(['tenants', name]));
  const top = useRead<TopTraffic>(path(['traffic'], { tenant: name, limit: SUMMED }), get, RATES_MS);
  const contracts = usePages<Contract>(path(['contracts'], { tenant: name, limit: 20 }));
  const vms = usePages<Vm>(path(['vms'], { tenant: name, limit: 50 }));
  return (
    <Shown of={tenant} what={name}>
      {(tenant) => (
        <>
          <h1>Tenant <span class="name">{tenant.name}</span></h1>
          <p class="buttons"><a class="button" href={to(['statement', tenant.name])}>Statement of the month</a> <a class="button" href={to(['traffic'], { tenant: tenant.name })}>Top talkers and flows</a> <a class="button" href={to(['contracts'], { tenant: tenant.name })}>All contracts</a></p>
          <Table caption="Quota and use" items={[
            { what: 'Contracts', used: count(tenant.usage.contracts), most: tenant.quota.contracts?.toLocaleString('en') },
            { what: 'Rate', used: quantity(tenant.usage.rate), most: quantity(tenant.quota.rate, Math.floor) },
            { what: 'Burst', used: quantity(tenant.usage.burst), most: quantity(tenant.quota.burst, Math.floor) },
          ]} rowKey={(row) => row.what} columns={[
            { head: 'Resource', cell: (row) => row.what },
            { head: 'Used', cell: (row) => row.used, isNumber: true },
            { head: 'Quota', cell: (row) => row.most || 'no limit', isNumber: true },
          ]} />
          <h2>Load</h2>
          <p><Load of={ofAll(top.value)} reservedBps={bitrate(tenant.usage.rate)} /></p>
          <LoadLegend />
          {top.value && top.value.measured > 0 && top.value.measured < top.value.contracts && <p class="dim">Rates of {count(top.value.measured)} of {many(top.value.contracts, 'contract')} are measured.</p>}
          <History of="tenants" name={tenant.name} />
          <h2>Contracts</h2>
          {contracts.items?.length === 0 && <Empty>No contracts.</Empty>}
          {contracts.items && contracts.items.length > 0 && <ContractTable items={contracts.items} caption={`Contracts of ${name}`} />}
          <More next={contracts.next} more={contracts.more} />
          <h2>VMs</h2>
          {vms.items?.length === 0 && <Empty>No VMs.</Empty>}
          {vms.items && vms.items.length > 0 && (
            <Table caption={`VMs of ${name}`} items={vms.items} rowKey={(vm) => vm.id} columns={[
              { head: 'VM', cell: (vm) => <Name of={vm.name} /> },
              { head: 'Host', cell: (vm) => <a href={to(['node', vm.host])}>{vm.host}</a> },
              { head: 'MAC address', cell: (vm) => <code>{vm.mac}</code> },
            ]} />
          )}
          <More next={vms.next} more={vms.more} />
        </>
      )}
    </Shown>
  );
}
