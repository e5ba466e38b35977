# cmake -DOUT=HEADER -DFILES=A;B;... -P ExtractStamp.cmake
# Writes a header with one digest over the files: two builds of locktidy share
# stored facts only if what makes them is the same.
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} digest)
  string(APPEND all "${digest}\n")
endforeach()
string(SHA256 stamp "${all}")
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define LOCKTIDY_EXTRACT_STAMP \"@stamp@\"\n" @ONLY)
