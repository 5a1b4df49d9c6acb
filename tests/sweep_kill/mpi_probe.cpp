// Can mpirun run anything here? Starts, passes one message round all ranks, ends. Uses nothing of the project.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char message[1 << 16] = {};
  const int size = static_cast<int>(sizeof message);
  for (int from = 0; from + 1 < ranks; ++from) {
    if (rank == from) MPI_Send(message, size, MPI_CHAR, from + 1, 0, MPI_COMM_WORLD);
    if (rank == from + 1) MPI_Recv(message, size, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
