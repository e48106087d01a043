import type { Tenant } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Confirm } from '../../components/dialog.tsx'
import { call } from '../../lib/api.ts'
import { changed, queryClient } from '../../lib/queries.ts'

/** Deletes a declaration: refused by the node while the tenant has anything but history. */
export function Withdraw({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const { name, version, weight, jitterSec } = tenant
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => call('deleteTenant', { params: { tenant: name }, headers: { 'if-match': `"${version}"` } }),
    onSuccess: async () => {
      await navigate({ to: '/tenants' })
      queryClient.removeQueries({ queryKey: ['getTenant', { params: { tenant: name } }] })
      await changed('listTenants')
    },
  })
  return (
    <Confirm
      title={`Delete the declaration of ${name}?`}
      action="Delete it"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <ul className="list-disc space-y-1 pl-5">
        {weight !== 1 && <li>Its weight goes from {weight} to 1, as that of any tenant that is not declared.</li>}
        {jitterSec !== null && <li>New schedules get no default jitter any more.</li>}
        <li>Nodes that refuse tenants that are not declared refuse its new work.</li>
        <li>Its history and its usage stay.</li>
      </ul>
      <p className="mt-3 text-soft">
        The node refuses this while the tenant has jobs, graphs, unfinished executions, pools or API keys.
      </p>
    </Confirm>
  )
}
