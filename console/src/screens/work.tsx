import { PageFrame } from '../ui/surfaces.tsx'
export default function Stub() {
  return <PageFrame title="Soon">soon</PageFrame>
}
