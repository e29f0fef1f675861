import { PageFrame } from '../ui/surfaces.tsx'
export default function Stub({ id }: { readonly id: string }) {
  return <PageFrame title="Soon">{id}</PageFrame>
}
