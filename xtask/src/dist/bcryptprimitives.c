/* The one function that every Rust program for Windows asks this library for, which Wine has only from 9 on. */

#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG size);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T size)
{
    return SystemFunction036(bytes, size);
}
