// An address that leads nowhere.

import { Waypoints } from 'lucide-react'
import { LinkButton } from '../ui/controls.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

export function NotFound() {
  return (
    <PageFrame title="Not found">
      <Empty
        icon={<Waypoints size={20} />}
        title="There is no page at this address"
        action={<LinkButton to="/">Go to the overview</LinkButton>}
      >
        It may have been typed by hand, or come from another version of the console.
      </Empty>
    </PageFrame>
  )
}
