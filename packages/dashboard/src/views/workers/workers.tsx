/** Who does the work: pools, workers, and the nodes that hand it to them. */
import { Heading } from '../../components/panel.tsx'
import { Nodes } from './nodes.tsx'
import { Pools } from './pools.tsx'
import { WorkerList } from './worker-list.tsx'

export default function Workers() {
  return (
    <>
      <Heading title="Workers" about="Pools, the workers that serve them, and the nodes." />
      <div className="space-y-4">
        <Pools />
        <WorkerList />
        <Nodes />
      </div>
    </>
  )
}
