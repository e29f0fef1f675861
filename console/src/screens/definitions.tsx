import { PageFrame } from '../ui/surfaces.tsx'
export default function Stub({ kind }: { readonly kind: string }) {
  return <PageFrame title="Soon">{kind}</PageFrame>
}
