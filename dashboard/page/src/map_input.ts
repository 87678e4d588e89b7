// Pointer, wheel and keys on a memory map.

export interface MapActions {
  // Zooms by a factor around a point, given as shares of the lanes' width and of the memory's height.
  zoom(factorX: number, shareX: number, factorY: number, shareY: number): void;
  // Moves by shares of the visible part.
  pan(shareX: number, shareY: number): void;
  fit(): void;
  hover(clientX: number, clientY: number): void;
  leave(): void;
  choose(clientX: number, clientY: number): void;
  // Goes to the next (1) or previous (-1) stay in the order of their beginnings.
  step(direction: 1 | -1): void;
  clear(): void;
}

export interface MapGeometry { lanesLeft: number; lanesWidth: number; memoryHeight: number; canvas: HTMLCanvasElement }

const kClickPixels = 4;  // a drag is longer
const kKeyZoom = 1.4;
const kKeyPan = 0.12;

export const kKeys: [string, string][] = [
  ["Ctrl + wheel, pinch, + and −, W and S", "zoom in time"],
  ["Ctrl + Shift + wheel, Shift with + and −", "zoom in addresses"],
  ["drag, arrow keys, A and D, Shift + wheel", "move"],
  ["double click", "zoom in"],
  ["0", "show everything"],
  ["[ and ]", "previous and next stay"],
  ["click, Escape", "keep a tensor marked; unmark it"],
];

// Handles the events of one panel.
export function attachInput(geometry: MapGeometry, actions: MapActions): void {
  const { canvas } = geometry;
  const pointers = new Map<number, PointerEvent>();
  let travelled = 0;

  const shareX = (clientX: number): number => {
    const x = clientX - canvas.getBoundingClientRect().left - geometry.lanesLeft;
    return Math.min(Math.max(x / geometry.lanesWidth, 0), 1);
  };
  const shareY = (clientY: number): number => {
    const box = canvas.getBoundingClientRect();
    return Math.min(Math.max((clientY - box.top) / box.height, 0), 1);
  };

  canvas.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const delta = event.deltaY !== 0 ? event.deltaY : event.deltaX;
      const factor = Math.exp(Math.min(Math.max(delta, -200), 200) * 0.0022);
      if (event.shiftKey) actions.zoom(1, shareX(event.clientX), factor, shareY(event.clientY));
      else actions.zoom(factor, shareX(event.clientX), 1, 0.5);
    } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      actions.pan(sideways / geometry.lanesWidth, 0);
    }
  }, { passive: false });

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    travelled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType === "mouse") actions.hover(event.clientX, event.clientY);
      return;
    }
    const dx = event.clientX - before.clientX;
    const dy = event.clientY - before.clientY;
    travelled += Math.abs(dx) + Math.abs(dy);
    if (pointers.size === 2) {
      const other = [...pointers.values()].find((pointer) => pointer.pointerId !== event.pointerId)!;
      const distance = (p: PointerEvent): number => Math.max(10, Math.abs(p.clientX - other.clientX));
      actions.zoom(distance(before) / distance(event), shareX((event.clientX + other.clientX) / 2), 1, 0.5);
    } else if (travelled > kClickPixels) {
      canvas.classList.add("dragging");
      actions.leave();
      actions.pan(-dx / geometry.lanesWidth, event.pointerType === "mouse" ? dy / geometry.memoryHeight : 0);
    }
    pointers.set(event.pointerId, event);
  });
  const release = (event: PointerEvent): void => {
    const was = pointers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (was && travelled <= kClickPixels && event.type === "pointerup") actions.choose(event.clientX, event.clientY);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => actions.leave());
  canvas.addEventListener("dblclick", (event) => actions.zoom(0.4, shareX(event.clientX), 1, 0.5));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (handleKey(event.key, event.shiftKey, actions)) event.preventDefault();
  });
}

// Returns whether the key means something here.
function handleKey(key: string, shift: boolean, actions: MapActions): boolean {
  const zoom = (factor: number): void => {
    if (shift && (key === "+" || key === "_" || key === "*")) actions.zoom(1, 0.5, factor, 0.5);
    else actions.zoom(factor, 0.5, 1, 0.5);
  };
  switch (key) {
    case "+": case "=": case "*": case "w": case "W": zoom(1 / kKeyZoom); return true;
    case "-": case "_": case "s": case "S": zoom(kKeyZoom); return true;
    case "ArrowLeft": case "a": case "A": actions.pan(-kKeyPan, 0); return true;
    case "ArrowRight": case "d": case "D": actions.pan(kKeyPan, 0); return true;
    case "ArrowUp": actions.pan(0, kKeyPan); return true;
    case "ArrowDown": actions.pan(0, -kKeyPan); return true;
    case "0": case "Home": actions.fit(); return true;
    case "]": actions.step(1); return true;
    case "[": actions.step(-1); return true;
    case "Escape": actions.clear(); return true;
    default: return false;
  }
}
